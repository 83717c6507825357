//! The result of a run of the latency program, as every program prints it: words `key=value`, on a line for the run and on
//! one for each of its threads. This is the writer of Heapwood's program and the reader for all.
//!
//! ```text
//! latency entries=87381 check=0x00000000000000ff cpu_ns=5000000000
//! thread steps=4000 ns=5000000000 max_ns=31000 dropped=0 hist=250:900,410:100 long=17:31000
//! ```
//!
//! `hist` has the buckets that are not empty with their counts, `long` the beginning and length of each long gap in order.
//! A program may add `pss_bytes`, its memory where max RSS misleads, and `collector`, what ran.

use crate::latency::gaps::{BUCKETS, Noted};
use std::fmt::{self, Display, Write};

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The entries of a thread's cache.
    pub entries: u64,
    /// The sum of the checksums of all threads.
    pub check: u64,
    /// CPU time of the whole process in the measured time.
    pub cpu_ns: u64,
    /// The process's share of the memory that it maps, at the end, if it is to be taken for max RSS.
    pub pss_bytes: Option<u64>,
    /// What the program says about its collector.
    pub collector: Option<String>,
    /// The gaps of each thread; there is at least one.
    pub threads: Vec<Noted>,
}

impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { entries, check, cpu_ns, .. } = self;
        write!(f, "latency entries={entries} check=0x{check:016x} cpu_ns={cpu_ns}")?;
        if let Some(bytes) = self.pss_bytes {
            write!(f, " pss_bytes={bytes}")?;
        }
        if let Some(collector) = &self.collector {
            write!(f, " collector={collector}")?;
        }
        self.threads.iter().try_for_each(|thread| {
            let Noted { steps, ns, max_ns, dropped, .. } = thread;
            write!(f, "\nthread steps={steps} ns={ns} max_ns={max_ns} dropped={dropped}")?;
            let counts = thread.counts.iter().enumerate().filter(|(_, count)| **count > 0);
            write!(f, " hist={}", pairs(counts.map(|(bucket, &count)| (bucket as u64, count))))?;
            write!(f, " long={}", pairs(thread.long.iter().copied()))
        })
    }
}

fn pairs(pairs: impl Iterator<Item = (u64, u64)>) -> String {
    let mut text = String::new();
    for (k, (a, b)) in pairs.enumerate() {
        let comma = if k > 0 { "," } else { "" };
        write!(text, "{comma}{a}:{b}").expect("strings take all");
    }
    text
}

impl Record {
    /// Parses an output.
    ///
    /// # Errors
    /// It is no such output, and why.
    pub fn parse(stdout: &str) -> Result<Record, String> {
        let mut lines = stdout.lines();
        let first = lines.next().ok_or("it printed nothing")?;
        let run = Words::of(first, "latency")?;
        let threads = lines.map(thread).collect::<Result<Vec<Noted>, String>>()?;
        if threads.is_empty() {
            return Err("it printed no line of a thread".into());
        }
        let check = run.get("check")?;
        let hex = check.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        Ok(Record {
            entries: run.number("entries")?,
            check: hex
                .ok_or_else(|| format!("it printed check={check}, which is no number in hexadecimal"))?,
            cpu_ns: run.number("cpu_ns")?,
            pss_bytes: run.find("pss_bytes").map(|_| run.number("pss_bytes")).transpose()?,
            collector: run.find("collector").map(String::from),
            threads,
        })
    }

    /// The number of gaps in each bucket, of all threads.
    pub fn counts(&self) -> Vec<u64> {
        let mut sum = vec![0; BUCKETS];
        for thread in &self.threads {
            sum.iter_mut().zip(&thread.counts).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    /// The longest gap of any thread.
    pub fn max_ns(&self) -> u64 {
        self.threads.iter().map(|thread| thread.max_ns).max().unwrap_or(0)
    }
}

/// The gaps in a thread's line.
fn thread(line: &str) -> Result<Noted, String> {
    let words = Words::of(line, "thread")?;
    let mut counts = vec![0; BUCKETS];
    for (bucket, count) in words.pairs("hist")? {
        let known = counts.get_mut(bucket as usize);
        *known.ok_or_else(|| format!("it printed bucket {bucket}; the last is {}", BUCKETS - 1))? += count;
    }
    let noted = Noted {
        steps: words.number("steps")?,
        ns: words.number("ns")?,
        max_ns: words.number("max_ns")?,
        dropped: words.number("dropped")?,
        counts,
        long: words.pairs("long")?,
    };
    // No gap overlaps the next one, or reaches beyond the time.
    let mut end = 0;
    for &(start, length) in &noted.long {
        if start < end || start.saturating_add(length) > noted.ns {
            return Err(format!(
                "it printed the long gap {start}:{length}, which does not follow the one before"
            ));
        }
        end = start + length;
    }
    match noted.ns == 0 || noted.steps == 0 || noted.counts.iter().all(|&count| count == 0) {
        true => Err("it printed a thread that did nothing".into()),
        false => Ok(noted),
    }
}

/// The words of a line.
struct Words<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Words<'a> {
    fn of(line: &'a str, name: &str) -> Result<Words<'a>, String> {
        let mut words = line.split(' ');
        if words.next() != Some(name) {
            let shown: String = line.chars().take(60).collect();
            return Err(format!("it printed {shown:?} in place of a line that begins with {name}"));
        }
        let pair = |word: &'a str| {
            word.split_once('=').ok_or_else(|| format!("it printed the word {word:?}, not key=value"))
        };
        Ok(Words(words.map(pair).collect::<Result<_, String>>()?))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| *value)
    }

    fn get(&self, key: &str) -> Result<&'a str, String> {
        self.find(key).ok_or_else(|| format!("it did not print {key}"))
    }

    fn number(&self, key: &str) -> Result<u64, String> {
        let text = self.get(key)?;
        text.parse().map_err(|_| format!("it printed {key}={text}, which is no whole number"))
    }

    fn pairs(&self, key: &str) -> Result<Vec<(u64, u64)>, String> {
        let pair = |text: &str| {
            let (a, b) = text.split_once(':')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        };
        let parts = self.get(key)?.split(',').filter(|part| !part.is_empty());
        parts
            .map(|part| pair(part).ok_or_else(|| format!("it printed {part:?} in {key}, not NUMBER:NUMBER")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::gaps::bucket;

    const RUN: &str = "latency entries=87381 check=0x00000000000000ff cpu_ns=5";
    const THREAD: &str =
        "thread steps=4000 ns=60000 max_ns=31000 dropped=0 hist=250:900,410:100 long=17:31000,40000:20000";

    fn two() -> String {
        format!("{RUN}\n{THREAD}\nthread steps=4 ns=9 max_ns=7 dropped=0 hist=7:1 long=\n")
    }

    #[test]
    fn what_is_printed_is_parsed() {
        let record = Record::parse(&two()).unwrap();
        assert_eq!((record.entries, record.check, record.cpu_ns), (87381, 255, 5));
        assert_eq!((record.threads.len(), record.max_ns()), (2, 31000));
        assert_eq!(record.threads[0].long, [(17, 31000), (40000, 20000)]);
        let counts = record.counts();
        assert_eq!((counts[7], counts[250], counts[410], counts.iter().sum::<u64>()), (1, 900, 100, 1001));
        assert_eq!(record.to_string() + "\n", two());
        let more = Record { pss_bytes: Some(7), collector: Some("ZGC".into()), ..record };
        assert_eq!(Record::parse(&more.to_string()), Ok(more));
        assert_eq!(bucket(7), 7);
    }

    #[test]
    fn wrong_outputs_are_refused_with_the_cause() {
        for (from, to, words) in [
            (RUN, "", "in place of a line that begins with latency"),
            (" cpu_ns=5", "", "did not print cpu_ns"),
            ("cpu_ns=5", "cpu_ns=fast", "cpu_ns=fast, which is no whole number"),
            ("check=0x", "check=", "no number in hexadecimal"),
            (" dropped=0", " dropped", "the word \"dropped\""),
            ("250:900", "250", "\"250\" in hist"),
            ("250:900", "1920:900", "bucket 1920; the last is 1919"),
            ("40000:20000", "31016:20000", "gap 31016:20000"),
            ("40000:20000", "40000:20001", "gap 40000:20001"),
            ("steps=4000", "steps=0", "did nothing"),
            ("thread steps=4000", "stop", "begins with thread"),
        ] {
            assert!(two().contains(from));
            let why = Record::parse(&two().replacen(from, to, 1)).unwrap_err();
            assert!(why.contains(words), "{from:?} {to:?}: {why}");
        }
        assert!(Record::parse("").unwrap_err().contains("nothing"));
        assert!(Record::parse(RUN).unwrap_err().contains("no line of a thread"));
    }
}
