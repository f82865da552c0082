//! Programs in C and C++ against the static library, under the sanitizers of the compiler.

use aqmlab_aqm::SchemeEntry;
use aqmlab_aqm::contract::LIGHT_LOAD;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The static library, which `cargo test` alone does not make.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let build = ["build", "--locked", "--quiet", "--profile", "test", "-p", "aqmlab-c"];
        let done = Command::new(env!("CARGO")).args(build).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let test = std::env::current_exe().expect("a test has a path");
        test.ancestors().nth(2).expect("it lies in a folder").join("libaqmlab.a")
    })
}

/// Compiles a source with every warning an error, and runs it; its output.
fn run(compiler: &str, source: &str, arguments: &[String]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(source.replace(['/', '.'], "-"));
    let compiled = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1", "-fsanitize=address,undefined"])
        .args(["-fno-sanitize-recover=all", "-I"])
        .arg(here.join("include"))
        .arg(here.join(source))
        .arg(library())
        .args(["-lm", "-lpthread", "-ldl", "-o"])
        .arg(&program)
        .output();
    let compiled = compiled.unwrap_or_else(|why| panic!("{compiler} compiles the programs of these tests: {why}"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let done = Command::new(&program).args(arguments).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{error}");
    out.into_owned()
}

/// A scheme as `tests/contract.c` takes it.
fn argument(entry: &SchemeEntry) -> String {
    let is_excepted = entry.exceptions.iter().any(|exception| exception.clause == LIGHT_LOAD);
    let observables = entry.observables.iter().map(|shown| {
        let mark = if shown.unit == "ratio" { "*" } else { "" };
        format!(" {mark}{}", shown.name)
    });
    let load = if is_excepted { "light" } else { "spared" };
    format!("{} {load}{}", entry.info.name, observables.collect::<String>())
}

#[test]
#[ignore = "builds the library by itself: make nightly"]
fn the_vectors_of_the_schemes_pass_through_the_library() {
    assert_eq!(run("cc", "tests/vectors.c", &[]), "every vector passes\n");
}

#[test]
#[ignore = "builds the library by itself: make nightly"]
fn every_scheme_keeps_the_contract_behind_the_library() {
    let schemes: Vec<String> = aqmlab_aqm::entries().iter().map(argument).collect();
    assert_eq!(run("cc", "tests/contract.c", &schemes), format!("{} schemes keep the contract\n", schemes.len()));
}

#[test]
#[ignore = "builds the library by itself: make nightly"]
fn the_examples_run() {
    let out = run("cc", "../../examples/c/transfer.c", &[]);
    assert!(out.contains("fq-codel: 2000 packets") && out.contains("dualpi2: 2000 packets"), "{out}");
    let out = run("c++", "../../examples/c/fork.cpp", &[]);
    assert!(out.contains("with PIE") && out.contains("with CoDel"), "{out}");
}
