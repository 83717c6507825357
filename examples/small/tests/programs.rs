//! Both programs print the same in every way, also where the collector runs at each allocation and checks the heap.

use std::process::Command;

const WAYS: [(&str, &str); 4] = [
    ("rc", env!("CARGO_BIN_EXE_small-rc")),
    ("plain", env!("CARGO_BIN_EXE_small-plain")),
    ("session", env!("CARGO_BIN_EXE_small-session")),
    ("scanned", env!("CARGO_BIN_EXE_small-scanned")),
];

/// Collections at every allocation, each checked and told of.
const STRESS: &str = "stress=1,verify=1,trace=1";

fn prints(args: [&str; 2], setting: &str, expected: &str) {
    for (way, program) in WAYS {
        let ran = Command::new(program).args(args).env("HEAPWOOD", setting).output().unwrap();
        assert!(ran.status.success(), "{way} {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{way} {args:?} {setting:?}");
        let collected = String::from_utf8_lossy(&ran.stderr).matches("kind=full").count();
        assert!(collected > 0 || setting.is_empty() || way == "rc", "{way} {args:?}: {collected}");
    }
}

#[test]
fn programs_print_the_same_in_every_way() {
    prints(["trees", "10"], "", "trees 78547\n");
    prints(["tables", "1000"], "", "tables 26932995\n");
}

#[test]
fn programs_print_the_same_under_stress() {
    prints(["trees", "4"], STRESS, "trees 931\n");
    prints(["tables", "50"], STRESS, "tables 66990\n");
}

#[test]
fn a_wrong_command_line_is_named() {
    for args in [&["trees"][..], &["trees", "3"], &["trees", "41"], &["tables", "0"], &["lists", "5"], &[]] {
        for (way, program) in WAYS {
            let ran = Command::new(program).args(args).output().unwrap();
            assert_eq!(ran.status.code(), Some(2), "{way} {args:?}");
            assert!(String::from_utf8_lossy(&ran.stderr).contains("usage: trees DEPTH"), "{way} {args:?}");
        }
    }
}
