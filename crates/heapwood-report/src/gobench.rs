//! Go's benchmark format (golang.org/design/14313-benchmark-format), which benchstat reads: lines `key: value`, which
//! hold for all following lines, and lines `BenchmarkName/key=value-PROCESSORS iterations value unit value unit ..`.
//! benchstat compares only lines under equal keys, so the header has only keys that are equal in all runs on one
//! machine. Invariant: the only white space is that between fields, so every line is parsed as it was meant.

use std::fmt;

/// One run of one benchmark.
#[derive(Clone, Debug)]
pub struct Line {
    name: String,
    values: Vec<(f64, String)>,
}

/// The header; `comment` is for people, and programs ignore it.
pub fn head(comment: &str) -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let comment = comment.replace('\n', " ");
    format!("# {comment}\ngoos: {}\ngoarch: {arch}\npkg: heapwood", std::env::consts::OS)
}

impl Line {
    /// A run of the benchmark with this name: `rand-small` becomes `BenchmarkRandSmall`.
    pub fn new(benchmark: &str) -> Line {
        let mut name = String::from("Benchmark");
        for word in benchmark.split(|c: char| !c.is_ascii_alphanumeric()) {
            let mut letters = word.chars();
            name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            name.push_str(letters.as_str());
        }
        Line { name, values: Vec::new() }
    }

    /// Adds a property in which benchmarks with the same name differ.
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Line {
        let part = format!("{key}={value}");
        self.name.push('/');
        self.name.extend(part.chars().map(|c| if c.is_whitespace() || c == '/' { '_' } else { c }));
        self
    }

    /// Adds a value; benchstat shows units that end in `ns` or `ns/op` as seconds.
    pub fn measured(mut self, value: f64, unit: impl Into<String>) -> Line {
        self.values.push((value, unit.into()));
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Always written, though Go omits a 1: otherwise a value that ends in a dash and digits would be taken for it.
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        write!(f, "{}-{processors}\t1", self.name)?;
        self.values.iter().try_for_each(|(value, unit)| write!(f, "\t{value} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = Vec<(String, String)>;

    /// Parses a line as Go's package benchfmt does: the name, the properties, and the values with their units.
    fn parse(line: &str) -> (String, Parts, Vec<(f64, String)>) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert!(fields.len() >= 4 && fields.len().is_multiple_of(2), "{line}");
        let (name, processors) = fields[0].strip_prefix("Benchmark").unwrap().rsplit_once('-').unwrap();
        assert!(processors.parse::<u32>().unwrap() >= 1 && fields[1].parse::<u64>().unwrap() == 1, "{line}");
        let mut parts = name.split('/');
        let base = parts.next().unwrap().to_string();
        let parts = parts.map(|part| part.split_once('=').unwrap()).map(|(k, v)| (k.into(), v.into()));
        let parts = parts.collect();
        let values = fields[2..].chunks(2).map(|pair| (pair[0].parse().unwrap(), pair[1].to_string()));
        (base, parts, values.collect())
    }

    #[test]
    fn a_line_is_read_as_it_was_meant() {
        let line = Line::new("malloc").with("row", "malloc8").with("prefetch", "off").measured(13.9, "ns/op");
        let of = |k: &str, v: &str| (k.to_string(), v.to_string());
        let (name, parts, values) = parse(&line.to_string());
        assert_eq!((name.as_str(), parts), ("Malloc", vec![of("row", "malloc8"), of("prefetch", "off")]));
        assert_eq!(values, [(13.9, "ns/op".to_string())]);

        let line = Line::new("rand-small").with("n", 18).with("stop_signal", "SIGRTMIN+1 / x-5");
        let line = line.measured(123456789012.0, "ns/op").measured(1e-7, "mops");
        let (name, parts, values) = parse(&line.to_string());
        assert_eq!(name, "RandSmall");
        assert_eq!(parts, [of("n", "18"), of("stop_signal", "SIGRTMIN+1___x-5")]);
        assert_eq!(values, [(123456789012.0, "ns/op".to_string()), (1e-7, "mops".to_string())]);
    }

    #[test]
    fn the_head_is_of_keys_that_go_knows() {
        let head = head("two\nlines");
        let lines: Vec<&str> = head.lines().collect();
        assert_eq!((lines[0], lines[1], lines[3]), ("# two lines", "goos: linux", "pkg: heapwood"));
        assert!(lines.len() == 4 && lines[2].starts_with("goarch: a"), "{head}");
    }
}
