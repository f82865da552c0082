//! The header is the one that cbindgen makes of the source.

use std::path::Path;

/// `AQMLAB_WRITE_HEADER=1` writes it; `make c-header` sets that.
#[test]
fn the_header_is_that_of_the_source() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let sources =
        ["src/lib.rs", "src/values.rs", "src/line_functions.rs", "src/path_functions.rs", "../law/src/table.rs"];
    let builder = sources.iter().fold(cbindgen::Builder::new(), |builder, file| builder.with_src(here.join(file)));
    let mut made = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut made);
    let (made, file) = (String::from_utf8(made).unwrap(), here.join("include/aqmlab.h"));
    if std::env::var_os("AQMLAB_WRITE_HEADER").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == made, "include/aqmlab.h is not that of the source; run `make c-header`");
}
