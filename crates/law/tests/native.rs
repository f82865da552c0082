//! Laws in C: the same bytes as ours, and every way to be wrong.

use aqmlab_law::load;
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, RunError, run};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a source to a shared library.
fn compile(source: &Path, name: &str) -> PathBuf {
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let done = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-override-init", "-Werror", "-O2", "-I"])
        .arg(root().join("crates/c/include"))
        .arg(source)
        .args(["-lm", "-o"])
        .arg(&library)
        .output()
        .expect("a compiler for C");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

/// A law with these lines in its table and functions before it.
fn law(name: &str, functions: &str, entries: &str) -> PathBuf {
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
    let text = format!(
        "#include <aqmlab.h>\n#include <math.h>\n#include <stdlib.h>\n{functions}\n\
         const AqmlabLaw *aqmlab_law(void);\nconst AqmlabLaw *aqmlab_law(void) {{\n  static const AqmlabLaw law = {{\n    \
         .version = AQMLAB_LAW_VERSION, .size = sizeof(AqmlabLaw), .name = \"{name}\", {entries} }};\n  return &law;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    compile(&source, name)
}

/// A run of eight senders under a law before PI, as text without its engine; or why it has no result.
fn ran(law: &str, more: &str) -> Result<String, String> {
    let text = format!(
        "schema = 1\nduration = '20 s'\nwarmup = '5 s'\n[[links]]\nname = 'l'\nrate = '10 Mbit/s'\nbuffer = '100 packets'\n\
         ecn = true\naqm = 'pi'\n[[flows]]\ncount = 8\nrtt = '40 ms'\ntcp = {{ congestion_control = '{law}'{more} }}\n"
    );
    let scenario = parse(&text, "native", &[]).map_err(|problems| problems.to_string())?;
    let output = run(scenario, Options { seed: 3, ..Options::default() }).map_err(|error| match error {
        RunError::Scheme { .. } => error.to_string(),
        other => panic!("{other}"),
    })?;
    let result = output.result;
    Ok(format!("{:?} {:?} {}", result.links, result.flows, result.engine.events))
}

#[test]
fn reno_in_c_gives_the_bytes_of_ours() {
    assert_eq!(load(&compile(&root().join("examples/c/reno.c"), "reno")).unwrap(), "c-reno");
    for more in ["", ", profile = 'rfc', variant = 'sack'", ", profile = 'rfc', variant = 'newreno'"] {
        assert_eq!(ran("c-reno", more).unwrap(), ran("reno", more).unwrap(), "{more}");
    }
}

const GROW: &str =
    "static void grow(void *s, AqmlabWindow *w, const AqmlabFacts *f) { (void)s, (void)f; w->cwnd += 1 / w->cwnd; }";

#[test]
fn an_answer_that_cannot_be_ends_the_run_and_is_named() {
    let nan = "static void nan_(void *s, AqmlabWindow *w, const AqmlabFacts *f) { (void)s, (void)f; w->cwnd = NAN; }";
    load(&law("law-nan", nan, ".on_ack = nan_")).unwrap();
    let why = ran("law-nan", "").unwrap_err();
    assert!(why.contains("law-nan") && why.contains("on_ack set cwnd to NaN"), "{why}");
    let zero = "static void zero(void *s, AqmlabWindow *w, const AqmlabFacts *f) { (void)s, (void)f; w->cwnd = 0; }";
    load(&law("law-zero", zero, ".on_ack = zero")).unwrap();
    assert!(ran("law-zero", "").unwrap_err().contains("set cwnd to 0"));
    let pace = format!("{GROW}\nstatic double pace(const void *s) {{ (void)s; return -1; }}");
    load(&law("law-pace", &pace, ".on_ack = grow, .pacing_rate = pace, .needs = AQMLAB_NEEDS_PACING")).unwrap();
    assert!(ran("law-pace", "").unwrap_err().contains("pacing_rate answered -1"));
}

#[test]
fn a_state_is_made_copied_and_freed() {
    let state = "typedef struct { double sum; } State;\n\
        static void *new_(void) { return calloc(1, sizeof(State)); }\n\
        static void *copy(const void *s) { State *t = new_(); *t = *(const State *)s; return t; }\n\
        static void on_ack(void *s, AqmlabWindow *w, const AqmlabFacts *f) { State *t = s; t->sum += f->acked; if (t->sum > 9) { t->sum = 0; w->cwnd += 1; } }\n\
        static double kept(const void *s, AqmlabEvent e) { (void)s; return e == AQMLAB_EVENT_ECHO ? 0.9 : 0.6; }";
    let entries = ".new_state = new_, .clone_state = copy, .free_state = free, .on_ack = on_ack, .kept = kept";
    load(&law("law-state", state, entries)).unwrap();
    assert_eq!(ran("law-state", "").unwrap(), ran("law-state", "").unwrap());
    assert_ne!(ran("law-state", "").unwrap(), ran("reno", "").unwrap());
}

#[test]
fn a_library_that_is_none_is_refused() {
    let why = |path: &Path| load(path).unwrap_err().to_string();
    assert!(why(Path::new("nowhere.so")).contains("no such file"));
    assert!(why(&root().join("README.md")).contains("cannot be loaded"));
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("empty.c");
    std::fs::write(&empty, "int nothing;\n").unwrap();
    assert!(why(&compile(&empty, "empty")).contains("no function aqmlab_law"));
    assert!(why(&law("cubic", GROW, ".on_ack = grow")).contains("is taken by a controller of aqmlab"));
    assert!(why(&law("law-version", GROW, ".on_ack = grow, .version = 9")).contains("version 9"));
    assert!(why(&law("law-empty", "", ".on_ack = 0")).contains("has no on_ack"));
    assert!(why(&law("law-half", GROW, ".on_ack = grow, .free_state = free")).contains("go together"));
}
