//! The variable HEAPWOOD of a child: the user's, and a setting that the comparison adds.

use std::ffi::OsString;

/// The user's variable, and a setting after it: the last value of a key counts.
pub(crate) fn appended(given: Option<OsString>, setting: &str) -> OsString {
    let mut all = given.unwrap_or_default();
    if !all.is_empty() {
        all.push(",");
    }
    all.push(setting);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_variable_stays() {
        let appended = |given: Option<&str>| appended(given.map(OsString::from), "percent=1");
        assert_eq!(appended(None), "percent=1");
        assert_eq!(appended(Some("")), "percent=1");
        assert_eq!(appended(Some("verify=on,percent=7")), "verify=on,percent=7,percent=1");
    }
}
