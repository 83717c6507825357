//! What shows that a model can fail: the same with an error, in a process of its own, which loom's panic must end.

const CHILD: &str = "HEAPWOOD_TEST_CHILD";

/// Plays a model in a process of its own, which must fail and say so. The test that calls this is that process's only one.
pub(crate) fn fails(saying: &str, model: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return model();
    }
    // The test harness names a test's thread after the test.
    let test = std::thread::current().name().expect("it is called by the test's own thread").to_owned();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child = child.args([&test, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
    assert!(said.contains("running 1 test") && !child.status.success() && said.contains(saying), "{said}");
}
