//! Notes down what the extension is compiled from: a hash of the sources, which decides whether results may be reused, and the
//! commit, for people.
//!
//! Both are taken again when a source has changed, not at each commit: nothing is compiled again for a commit that leaves
//! the sources as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    find_crates(&root.join("crates"), &mut files);
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=AQMLAB_SOURCE={:016x}", hash(&root, &files));
    println!("cargo::rustc-env=AQMLAB_COMMIT={}", commit(&root).unwrap_or_else(|| "unknown".into()));
}

/// The manifest, build script and sources of every crate.
fn find_crates(folder: &Path, found: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        found.extend(["Cargo.toml", "build.rs"].map(|name| path.join(name)).into_iter().filter(|file| file.is_file()));
        find_sources(&path.join("src"), found);
    }
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display()); // for files that come and go
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            found.push(path);
        }
    }
}

/// FNV-1a over the names and contents, by name. Line ends do not count: git may have changed them.
fn hash(root: &Path, files: &[PathBuf]) -> u64 {
    let mut named: Vec<(String, &PathBuf)> = files
        .iter()
        .map(|file| (file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/"), file))
        .collect();
    named.sort();
    let contents = |file| fs::read(file).unwrap_or_default().into_iter().filter(|byte| *byte != b'\r');
    let bytes = named.iter().flat_map(|(name, file)| name.bytes().chain([0]).chain(contents(file)).chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The commit of the repository that the sources are part of.
fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?; // else it is a copy within somebody else's repository
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"])?;
    Some(if changed.is_empty() { commit } else { commit + "-dirty" })
}
