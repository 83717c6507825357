//! Lines that are not compared, by an extended regular expression of POSIX: the C library's.

use heapwood_report::CommandError;
use std::ffi::CString;

pub(super) struct Expression(Option<Box<libc::regex_t>>);

impl Expression {
    /// Without a text it matches nothing.
    pub(super) fn new(text: Option<&str>) -> Result<Self, CommandError> {
        let Some(text) = text else { return Ok(Expression(None)) };
        let wrong =
            || CommandError::usage(format_args!("--ignore {text:?} is no extended regular expression"));
        let pattern = CString::new(text).map_err(|_| wrong())?;
        // SAFETY: all zeros is a value of the structure, which the call fills.
        let mut regex: Box<libc::regex_t> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: the pattern ends in a zero.
        match unsafe { libc::regcomp(&mut *regex, pattern.as_ptr(), libc::REG_EXTENDED | libc::REG_NOSUB) } {
            0 => Ok(Expression(Some(regex))),
            _ => Err(wrong()),
        }
    }

    fn matches(&self, line: &str) -> bool {
        let (Some(regex), Ok(line)) = (&self.0, CString::new(line)) else { return false };
        // SAFETY: the expression was compiled, and the line ends in a zero.
        unsafe { libc::regexec(&**regex, line.as_ptr(), 0, std::ptr::null_mut(), 0) == 0 }
    }

    /// The lines of a text that are compared.
    pub(super) fn rest(&self, text: &str) -> Vec<String> {
        text.lines().filter(|line| !self.matches(line)).map(str::to_owned).collect()
    }
}

impl Drop for Expression {
    fn drop(&mut self) {
        if let Some(regex) = &mut self.0 {
            // SAFETY: it was compiled, and is not used again.
            unsafe { libc::regfree(&mut **regex) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_match_are_left_out() {
        let expression = Expression::new(Some("^(time|gc-[a-z]+) [0-9]+$")).unwrap();
        assert_eq!(expression.rest("a\ntime 17\ngc-runs 3\ntime x\n"), ["a", "time x"]);
        assert_eq!(Expression::new(None).unwrap().rest("a\nb"), ["a", "b"]);
        assert!(Expression::new(Some("(")).is_err());
    }
}
