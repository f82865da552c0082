//! Messages of netlink: a header that depends on the request, then attributes, which nest.

/// The body of a request, or the content of an attribute.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
const NESTED: u16 = 1 << 15;

impl Message {
    /// A body that begins with these bytes.
    pub fn of(header: &[u8]) -> Self {
        Self(header.to_vec())
    }

    /// Followed by a number, in the machine's order of bytes.
    pub fn and_u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// With an attribute.
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((4 + value.len()) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// With a number as an attribute.
    pub fn with_u32(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// With a text as an attribute.
    pub fn with_text(self, kind: u16, text: &str) -> Self {
        self.with(kind, &[text.as_bytes(), &[0]].concat())
    }

    /// With attributes in an attribute.
    pub fn nested(self, kind: u16, inner: &Message) -> Self {
        self.with(kind | NESTED, &inner.0)
    }

    /// As it is sent.
    pub(crate) fn framed(&self, kind: u16, flags: u16) -> Vec<u8> {
        let mut framed = ((HEADER + self.0.len()) as u32).to_ne_bytes().to_vec();
        framed.extend([kind.to_ne_bytes(), flags.to_ne_bytes()].concat());
        framed.extend([0; 8]);
        framed.extend(&self.0);
        framed
    }
}

impl From<Message> for Vec<u8> {
    fn from(message: Message) -> Self {
        message.0
    }
}

/// The type of an answer and its body; `None` if it is cut.
pub(crate) fn answer(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    Some((kind, bytes.get(HEADER..)?))
}

/// The number with which an answer begins, if it is no more than the kernel's word on a request.
pub(crate) fn error_code(bytes: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(answer(bytes)?.1.get(..4)?.try_into().ok()?))
}

/// The content of the first attribute of this kind.
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (kind, content, rest) = next_attribute(bytes)?;
        if kind == wanted {
            return Some(content);
        }
        bytes = rest;
    }
}

/// Kind and content of the attribute at the start, and what follows it.
pub(crate) fn next_attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & !NESTED;
    let content = bytes.get(4..length)?;
    Some((kind, content, bytes.get(length.next_multiple_of(4)..).unwrap_or(&[])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_and_read_again() {
        let inner = Message::default().with_text(1, "fifo").with_u32(2, 7);
        let body = Message::default().with(5, &[9]).nested(3, &inner);
        assert_eq!(body.0.len(), 8 + 4 + 12 + 8, "one byte takes eight, five of text take twelve");
        let nested = attribute(&body.0, 3).unwrap();
        assert_eq!(attribute(nested, 1), Some(&b"fifo\0"[..]));
        assert_eq!(attribute(nested, 2), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!((attribute(&body.0, 4), attribute(&body.0[..6], 5)), (None, Some(&[9][..])));
    }

    #[test]
    fn a_cut_attribute_is_none() {
        let body = Message::default().with_u32(2, 7);
        assert_eq!(attribute(&body.0[..7], 2), None);
    }
}
