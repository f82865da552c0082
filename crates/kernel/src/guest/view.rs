//! The user's view of the host's files: all of them to be read, the named folders to be written, and `/tmp`, `/run` and `/dev`
//! made anew.

use nix::mount::{MsFlags, mount};
use nix::unistd::chroot;
use std::env::set_current_dir;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Folder of the first root at which the view is made.
const VIEW: &str = "/view";
/// Folders that are empty at the start and kept in memory.
const FRESH: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev/shm"];
/// A folder that everybody may write to, with files that only their owners remove.
const SHARED: u32 = 0o1777;

/// Makes the view, in which `directory` can be read wherever it is, and makes it the root.
pub fn enter(directory: &Path, writable: &[impl AsRef<Path>]) -> io::Result<()> {
    host("/", "/", MsFlags::MS_RDONLY)?;
    make("proc", "/proc", None)?;
    make("sysfs", "/sys", None)?;
    make("devtmpfs", "/dev", None)?;
    for folder in FRESH {
        // A host may lack one of them.
        if there(folder).exists() || (folder.starts_with("/dev") && fs::create_dir(there(folder)).is_ok()) {
            make("tmpfs", folder, Some("mode=1777"))?;
        }
    }
    fs::create_dir_all(there("/dev/pts"))?;
    make("devpts", "/dev/pts", Some("newinstance,ptmxmode=0666,mode=0620"))?;
    // Devices are the kernel's own and change nothing on the host.
    for device in ["/dev/net/tun", "/dev/ptmx"] {
        fs::set_permissions(there(device), Permissions::from_mode(0o666))?;
    }
    fs::set_permissions(there("/dev/shm"), Permissions::from_mode(SHARED))?;
    if !there(directory).exists() {
        fs::create_dir_all(there(directory))?; // in /tmp it is not there yet
        host(directory, directory, MsFlags::MS_RDONLY)?;
    }
    for folder in writable {
        let folder = folder.as_ref();
        fs::create_dir_all(there(folder))?;
        host(folder, folder, MsFlags::empty())?;
    }
    set_current_dir(VIEW)?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>)?;
    chroot(".")?;
    set_current_dir("/")
}

/// The place of a path of the view, before it is the root.
fn there(path: impl AsRef<Path>) -> std::path::PathBuf {
    let path = path.as_ref();
    Path::new(VIEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts a folder of the host.
fn host(source: impl AsRef<Path>, target: impl AsRef<Path>, flags: MsFlags) -> io::Result<()> {
    let flags = flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some("host"), &there(target), Some("hostfs"), flags, Some(source.as_ref()))?)
}

/// Mounts a file system of the kernel's own.
fn make(kind: &str, target: &str, options: Option<&str>) -> io::Result<()> {
    Ok(mount(Some(kind), &there(target), Some(kind), MsFlags::MS_NOSUID, options)?)
}
