//! Address space: ulimits, a trial of a large reservation, and the limit of mappings.

use super::finding::{Finding, Text};
use heapwood_os::OsError;
use heapwood_report::size::show;

pub(crate) const MAX_MAPPINGS: &str = "/proc/sys/vm/max_map_count";
pub(crate) const MAPPINGS: &str = "/proc/self/maps";

/// The reservation of the trial: the smallest default of a heap without limits.
pub(crate) const TRIED: usize = 4 << 30;

const USUAL_MAPPINGS: u64 = 65_530;
const SMALLEST_RESERVATION: u64 = 16 << 20;
/// The size of the reservation that a heap asks for.
fn usual_reservation(limit: Option<u64>, physical: u64) -> u64 {
    heapwood::Config::usual_reservation(limit, physical) as u64
}

pub(crate) fn limit(limit: Option<u64>, physical: u64) -> Finding {
    const NAME: &str = "address space limit";
    let usual = usual_reservation(None, physical);
    let Some(bytes) = limit else {
        return Finding::ok(NAME, "none", format!("A heap has {} of addresses.", show(usual)));
    };
    let found = format!("{bytes} bytes ({}, ulimit -v)", show(bytes));
    let reservation = usual_reservation(limit, physical);
    if reservation >= usual {
        return Finding::ok(NAME, found, format!("A heap still has {} of addresses.", show(usual)));
    }
    let consequence = if bytes <= SMALLEST_RESERVATION {
        format!("No heap can be made: the smallest reservation is {}.", show(SMALLEST_RESERVATION))
    } else {
        format!("A heap cannot grow beyond what the program leaves of {}.", show(bytes))
    };
    Finding::warning(
        NAME,
        found,
        consequence,
        "Before the program starts: ulimit -v unlimited (the hard limit, too, if that is refused); limit \
         memory by --limit or a cgroup instead.",
    )
}

pub(crate) fn reservation(outcome: &Result<(), OsError>, limit: Option<u64>) -> Finding {
    const NAME: &str = "reservation";
    let tried = show(TRIED as u64);
    match outcome {
        Ok(()) => Finding::ok(
            NAME,
            format!("{tried} without access: granted"),
            "A heap's reservation takes no memory.",
        ),
        Err(why) => Finding::warning(
            NAME,
            format!("{tried} without access: refused (errno {})", why.errno),
            "A heap halves its reservation until the kernel grants it, and cannot grow beyond that.",
            match limit {
                Some(bytes) => format!("Raise ulimit -v, which is {bytes} bytes: ulimit -v unlimited"),
                None => "No ulimit -v is set: check the limits of the container or sandbox.".into(),
            },
        ),
    }
}

pub(crate) fn data_limit(limit: Option<u64>) -> Finding {
    const NAME: &str = "data limit";
    match limit {
        None => Finding::ok(NAME, "none", "Commits are not counted against a ulimit."),
        Some(bytes) => Finding::warning(
            NAME,
            format!("{bytes} bytes ({}, ulimit -d)", show(bytes)),
            "Reservations do not count, but commits do: a heap cannot grow beyond it, together with \
             everything else that the program writes to.",
            "Before the program starts: ulimit -d unlimited; limit the heap by --limit instead.",
        ),
    }
}

pub(crate) fn mappings(most: &Text, maps: &Text) -> Finding {
    const NAME: &str = "mappings";
    let text = match most {
        Ok(text) => text,
        Err(why) => return Finding::unread(NAME, MAX_MAPPINGS, why),
    };
    let Ok(most) = text.trim().parse::<u64>() else {
        return Finding::odd(NAME, MAX_MAPPINGS, text);
    };
    let now = match maps {
        Ok(maps) => maps.lines().count().to_string(),
        Err(_) => "an unknown number".into(),
    };
    let found = format!("{now} of at most {most}");
    if most >= USUAL_MAPPINGS {
        return Finding::ok(NAME, found, "A heap has few: it grows from below.");
    }
    Finding::note(
        NAME,
        found,
        format!(
            "The usual limit is {USUAL_MAPPINGS}. A heap needs few, but a program with many threads or other \
             allocators may run out, and then a commit is refused."
        ),
        format!("As root: sysctl vm.max_map_count={USUAL_MAPPINGS}"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::State::*;
    use super::*;
    use heapwood_os::Request;

    const MACHINE: u64 = 16 << 30;

    #[test]
    fn a_ulimit_shows_the_reservation_it_leaves() {
        let none = limit(None, MACHINE);
        assert_eq!((none.state, none.found.as_str()), (Ok, "none"));
        assert!(none.consequence.contains("32.0 GiB"), "{}", none.consequence);
        let small = limit(Some(102_400_000), MACHINE);
        assert_eq!(small.state, Warning);
        assert!(small.found.starts_with("102400000 bytes"), "{small}");
        assert!(small.consequence.contains("leaves of 97.7 MiB"), "{small}");
        assert!(small.remedy.unwrap().contains("ulimit -v unlimited"));
        assert!(limit(Some(9 << 20), MACHINE).consequence.contains("No heap"));
        let ample = limit(Some(1 << 40), MACHINE);
        assert_eq!(ample.state, Ok, "{ample}");
        for odd in [0, 1, u64::MAX] {
            limit(Some(odd), MACHINE);
            limit(Some(odd), u64::MAX);
        }
        assert_eq!(limit(Some(0), 0).state, Warning);
    }

    #[test]
    fn a_refused_reservation_has_a_remedy() {
        assert_eq!(reservation(&Result::Ok(()), None).state, Ok);
        let refused = Err(OsError::new(Request::Reserve, TRIED, 12));
        let limited = reservation(&refused, Some(102_400_000));
        assert_eq!(limited.state, Warning);
        assert!(limited.remedy.as_ref().unwrap().contains("102400000"), "{limited}");
        let other = reservation(&refused, None);
        assert!(other.state == Warning && other.to_string().contains("sandbox"), "{other}");
    }

    #[test]
    fn a_data_limit_is_a_warning() {
        assert_eq!(data_limit(None).state, Ok);
        let limited = data_limit(Some(1 << 30));
        assert!(limited.state == Warning && limited.found.contains("1073741824"), "{limited}");
    }

    #[test]
    fn mappings_below_the_usual_limit_are_a_note() {
        let maps: Text = Result::Ok("a\nb\nc\n".into());
        let of = |most: &str| mappings(&Result::Ok(most.into()), &maps);
        assert_eq!(of("65530\n").found, "3 of at most 65530");
        assert_eq!((of("65530\n").state, of("1048576\n").state, of("1024\n").state), (Ok, Ok, Note));
        assert_eq!(of("").state, Note);
        let missing = || Err(std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(mappings(&missing(), &maps).state, Note);
        let uncounted = mappings(&Result::Ok("65530".into()), &missing());
        assert!(uncounted.state == Ok && uncounted.found.contains("unknown"), "{uncounted}");
    }
}
