//! Samples on their way to a page: gathered, thinned out by minimum and maximum, packed as binary frames.

/// Rows that wait for a slow page before they are thinned out further.
const MOST_ROWS: usize = 20_000;
/// Of a page that has not said how wide it is.
const USUAL_PIXELS: f64 = 1200.0;

/// Samples that have not been sent yet.
#[derive(Default)]
pub(crate) struct Samples {
    /// Row after row, the time first; NaN where there is no value.
    rows: Vec<f32>,
    columns: usize,
    /// Seconds of a pixel.
    width: f64,
    is_viewed: bool,
}

/// The head of a frame.
pub(crate) struct FrameHead {
    pub epoch: u32,
    pub sequence: u32,
    pub now: f64,
    /// The speed measured.
    pub speed: f64,
}

impl Samples {
    /// Begins a run of this length (s), of which a page sees all unless it has said what it sees.
    pub fn open(&mut self, end: f64) {
        if !self.is_viewed {
            self.width = end / USUAL_PIXELS;
        }
    }

    /// The page sees so many seconds in so many pixels.
    pub fn view(&mut self, span: f64, pixels: f64) {
        (self.width, self.is_viewed) = ((span / pixels).max(1e-6), true);
    }

    /// Forgets the rows; the next have so many columns.
    pub fn restart(&mut self, columns: usize) {
        self.rows.clear();
        self.columns = columns;
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes in the rows of all lanes, each with its own columns after the time, and thins out where there are too many.
    pub fn add<'a>(&mut self, lanes: impl Iterator<Item = (&'a [f32], usize)>) {
        let mut lanes: Vec<_> = lanes.map(|(rows, columns)| rows.chunks_exact(columns)).collect();
        let Some((first, others)) = lanes.split_first_mut() else { return };
        for row in first {
            self.rows.extend(row);
            others.iter_mut().filter_map(Iterator::next).for_each(|row| self.rows.extend(&row[1..]));
        }
        let mut width = self.width;
        while self.rows.len() > MOST_ROWS * self.columns {
            self.rows = thinned(std::mem::take(&mut self.rows), self.columns, width);
            width *= 2.0;
        }
    }

    /// All rows, and the packets that wait by lane, link and group, as a frame: magic, epoch, sequence, rows, columns and numbers of
    /// the content (4 bytes each), the present and the speed (8 bytes each), column after column, the content.
    pub fn pack(&mut self, head: &FrameHead, content: &[u32]) -> Vec<u8> {
        let rows = thinned(std::mem::take(&mut self.rows), self.columns, self.width);
        let columns = if rows.is_empty() { 0 } else { self.columns };
        let height = rows.len().checked_div(columns).unwrap_or(0);
        let counts = [head.epoch, head.sequence, height as u32, columns as u32, content.len() as u32];
        let mut frame = Vec::with_capacity(40 + 4 * (rows.len() + content.len()));
        frame.extend(b"AQM1");
        counts.iter().for_each(|count| frame.extend(count.to_le_bytes()));
        [head.now, head.speed].iter().for_each(|number| frame.extend(number.to_le_bytes()));
        let by_column = (0..columns).flat_map(|column| rows[column..].iter().step_by(columns));
        by_column.for_each(|number| frame.extend(number.to_le_bytes()));
        content.iter().for_each(|count| frame.extend((*count as f32).to_le_bytes()));
        frame
    }
}

/// Two rows for each `width` seconds: of each column the minimum and the maximum, in the order in which they came. Rows that are
/// hardly more than that already are returned as they are.
fn thinned(rows: Vec<f32>, columns: usize, width: f64) -> Vec<f32> {
    let bucket = |row: &&[f32]| (f64::from(row[0]) / width).floor();
    let all: Vec<&[f32]> = rows.chunks_exact(columns.max(1)).collect();
    let buckets: Vec<&[&[f32]]> = all.chunk_by(|a, b| bucket(a) == bucket(b)).collect();
    if all.len() <= 3 * buckets.len() {
        return rows;
    }
    let mut found = Vec::with_capacity(2 * buckets.len() * columns);
    for rows in buckets {
        let pairs: Vec<[f32; 2]> = (0..columns).map(|column| extremes(rows.iter().map(|row| row[column]))).collect();
        found.extend(pairs.iter().map(|pair| pair[0]).chain(pairs.iter().map(|pair| pair[1])));
    }
    found
}

/// The least and the greatest number, in the order of their first appearance; NaN if there is none.
fn extremes(numbers: impl Iterator<Item = f32>) -> [f32; 2] {
    let (mut low, mut high) = ((f32::NAN, 0), (f32::NAN, 0));
    for (i, number) in numbers.enumerate() {
        low = if number < low.0 || low.0.is_nan() { (number, i) } else { low };
        high = if number > high.0 || high.0.is_nan() { (number, i) } else { high };
    }
    if low.1 <= high.1 { [low.0, high.0] } else { [high.0, low.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: FrameHead = FrameHead { epoch: 7, sequence: 41, now: 1.25, speed: 9.5 };

    #[test]
    fn thinning_keeps_extremes_in_their_order() {
        let nan = f32::NAN;
        let dense = [
            [0.1, 5.0, nan],
            [0.2, 9.0, nan],
            [0.3, 1.0, nan],
            [0.4, 3.0, nan],
            [1.1, 2.0, 7.0],
            [1.2, 8.0, nan],
            [1.3, 4.0, 6.0],
        ];
        let found = thinned(dense.concat(), 3, 1.0);
        let column = |column: usize| found[column..].iter().step_by(3).copied().collect::<Vec<f32>>();
        assert_eq!(column(0), [0.1, 0.4, 1.1, 1.3]);
        assert_eq!(column(1), [9.0, 1.0, 2.0, 8.0], "the greatest came first in the first second");
        assert_eq!(column(2)[2..], [7.0, 6.0]);
        assert!(column(2)[..2].iter().all(|number| number.is_nan()));
    }

    #[test]
    fn what_is_thin_enough_is_left_alone() {
        let thin = vec![0.5, 1.0, 1.5, 2.0, 1.6, 3.0];
        assert_eq!(thinned(thin.clone(), 2, 1.0), thin);
    }

    #[test]
    fn a_page_that_takes_nothing_costs_no_memory() {
        let mut samples = Samples::default();
        samples.open(1.2);
        samples.restart(2);
        for i in 0..100 {
            let rows: Vec<f32> = (0..1000).flat_map(|j| [i as f32 + j as f32 / 1000.0, j as f32]).collect();
            samples.add([(&*rows, 2)].into_iter());
        }
        assert!(samples.pack(&HEAD, &[]).len() < 8 * (MOST_ROWS + 1000) + 100);
        assert!(samples.is_empty());
    }

    #[test]
    fn a_frame_is_what_a_page_reads() {
        let mut samples = Samples::default();
        samples.restart(3);
        samples.view(1.0, 1000.0);
        let (first, second) = ([0.5, 12.0, 1.0, -3.0], [0.5, f32::NAN, 1.0, 0.25]);
        samples.add([(&first[..], 2), (&second[..], 2)].into_iter());
        let hex: String = samples.pack(&HEAD, &[4, 6]).iter().map(|byte| format!("{byte:02x}")).collect();
        let head = "41514d310700000029000000020000000300000002000000000000000000f43f0000000000002340".to_string();
        assert_eq!(hex, head + "0000003f0000803f00004041000040c00000c07f0000803e000080400000c040");
    }
}
