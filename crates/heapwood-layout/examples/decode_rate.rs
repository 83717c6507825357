//! How fast programs are decoded: bits a nanosecond, median and best of many passes, beside what Go 1.26 was measured at
//! with its own programs of the same types, and the older recursive form interpreted bit by bit. The best pass is the one
//! to look at where other work runs on the machine.
//!
//! `cargo run --release -p heapwood-layout --example decode_rate [passes]`

use std::hint::black_box;
use std::time::{Duration, Instant};

use heapwood_layout::program::reference::{Old, emitted};
use heapwood_layout::program::{Program, ProgramError};

fn varint(mut n: u64, bytes: &mut Vec<u8>) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

/// A program with the older form of the same type beside it.
struct Both {
    bytes: Vec<u8>,
    old: Vec<Old>,
}

fn bits(bits: &[bool]) -> Both {
    let mut bytes = vec![];
    if bits.len() < 0x7f {
        bytes.push(bits.len() as u8);
    } else {
        bytes.push(0x7f);
        varint(bits.len() as u64, &mut bytes);
    }
    bytes.extend(bits.chunks(8).map(|c| c.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))));
    Both { bytes, old: vec![Old::Bits(bits.to_vec())] }
}

impl Both {
    /// An array of so many of these.
    fn array(mut self, count: u64) -> Both {
        let last = emitted(&self.bytes);
        if last < 0x80 {
            self.bytes.push(0x80 | last as u8);
        } else {
            self.bytes.push(0x80);
            varint(last, &mut self.bytes);
        }
        varint(count - 1, &mut self.bytes);
        Both { bytes: self.bytes, old: vec![Old::Array(Box::new(Old::Seq(self.old)), count)] }
    }

    fn then(mut self, next: Both) -> Both {
        self.bytes.extend(next.bytes);
        self.old.extend(next.old);
        self
    }
}

/// Median and best time of one run.
fn time(passes: usize, mut run: impl FnMut()) -> (f64, f64) {
    let begin = Instant::now();
    run();
    // Passes of at least some 50 us, so that the clock does not count.
    let runs = (50_000 / begin.elapsed().as_nanos().max(1)).clamp(1, 5000) as u32;
    let mut times: Vec<Duration> = (0..passes)
        .map(|_| {
            let begin = Instant::now();
            (0..runs).for_each(|_| run());
            begin.elapsed()
        })
        .collect();
    times.sort();
    let ns = |time: Duration| time.as_nanos() as f64 / f64::from(runs);
    (ns(times[passes / 2]), ns(times[0]))
}

fn main() -> Result<(), ProgramError> {
    let passes = std::env::args().nth(1).map_or(401, |n| n.parse().expect("a number of passes"));
    let only = std::env::args().nth(2).unwrap_or_default();
    let odd = |n: usize| (0..n).map(|i| i * i % 11 % 3 == 1).collect::<Vec<_>>();
    let node = |n: u64| bits(&[false]).array(n).then(bits(&[true, true]));
    let cases = [
        ("2^20 ones", Some(7.3), bits(&[true]).array(1 << 20)),
        ("alternating, 2^20", Some(7.2), bits(&[true, false]).array(1 << 19)),
        ("7 x 100K", Some(7.2), bits(&odd(7)).array(100_000)),
        ("57 x 10K", Some(6.7), bits(&odd(57)).array(10_000)),
        ("58 x 10K", Some(5.4), bits(&odd(58)).array(10_000)),
        ("65 x 10K", None, bits(&odd(65)).array(10_000)),
        ("1001 x 1000", None, bits(&odd(1001)).array(1000)),
        ("literal of 120,000", Some(5.9), bits(&odd(120_000))),
        ("100 x 100 x 3", Some(6.2), bits(&odd(3)).array(100).array(100)),
        ("Node128", Some(4.2), node(128)),
        ("Node130", None, node(130)),
        ("Node1024", Some(8.7), node(1024)),
        ("[32]Node128", Some(5.8), node(128).array(32)),
        ("[32]Node130", None, node(130).array(32)),
        ("[32]Node1024", Some(6.5), node(1024).array(32)),
    ];
    println!(
        "{:20} {:>8} {:>10} {:>10} {:>8} {:>8} {:>7} {:>8} {:>8}",
        "", "bits", "ns median", "ns best", "b/ns med", "b/ns best", "Go", "times", "older"
    );
    for (name, go, both) in cases {
        if !name.contains(&only) {
            continue;
        }
        let words = emitted(&both.bytes);
        let mut bytes = both.bytes;
        bytes.push(0);
        let program = Program::check(&bytes, words)?;
        let mut out = vec![0u64; words.div_ceil(64) as usize];
        let (median, best) = time(passes, || black_box(&program).decode(black_box(&mut out), 0));
        let old = Old::Seq(both.old);
        let mut again = vec![0u64; out.len()];
        let (_, older) = time(passes / 20 + 1, || {
            black_box(&old).decode(black_box(&mut again), 0);
        });
        assert!(out == again, "{name}: the two forms differ");
        let n = words as f64;
        let [go, times] =
            go.map_or(["-".into(), "-".into()], |go| [format!("{go:.1}"), format!("{:.1}", n / best / go)]);
        println!(
            "{name:20} {words:8} {median:10.1} {best:10.1} {:8.1} {:8.1} {go:>7} {times:>8} {:8.2}",
            n / median,
            n / best,
            n / older
        );
    }
    Ok(())
}
