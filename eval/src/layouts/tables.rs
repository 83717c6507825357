//! The tables for people, which are valid Markdown, each with an explanation of its columns.

use super::report::Report;
use heapwood_report::Spread;
use heapwood_report::tables::{number, show, table};
use std::fmt::{self, Formatter};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self;
        writeln!(f, "{}", report.header)?;
        writeln!(f)?;
        writeln!(
            f,
            "Median (least-most) of {} rounds, one stretch of everything in each, after a round that only warms up. PtrK: K",
            report.header.runs
        )?;
        writeln!(
            f,
            "pointers. NodeK: K words, then two pointers; Dead: the pointers first. Slices: 32 elements, PtrSlice 1024.\n\
             Quoted columns are published measurements on other machines."
        )?;
        allocation(f, report)?;
        layouts(f, report)?;
        rates(f, report)
    }
}

fn cell(spread: Spread) -> String {
    show(spread, 1.0)
}

fn allocation(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let header = ["", "bytes", "described by", "allocate", "no pointers", "zeroed", "quoted: Go 1.26"];
    let mut table = table(&header);
    for row in &report.types {
        table.add_row([
            row.name.into(),
            row.bytes.to_string(),
            row.described_by.into(),
            cell(row.allocate_ns),
            cell(row.allocate_no_pointers_ns),
            if row.zeroed { "both" } else { "neither" }.into(),
            number(row.quoted.go_1_26_ns),
        ]);
    }
    writeln!(
        f,
        "\n\
             Allocation, nanoseconds an object:\n\
             \n\
             {table}\n\
             \n\
             described by: masks reach 256 words; slices repeat the layout of their element.\n\
             allocate, no pointers: an object of the type, and one of as many bytes without pointers, each in spans of its\n\
             own layout, without collections. The span has the layout, so nothing is written for the layout of an object.\n\
             zeroed: neither: both are uninitialised, for the caller to write; they differ by noise. both: the heap zeroes objects\n\
             that the caller may not write whole, so for a fair comparison it zeroes those without pointers,\n\
             too. Up to 32 KiB it zeroes a run of cells at once, and pointer-free objects one by one, which is the difference."
    )?;
    writeln!(f, "Go 1.26: its SetType benchmark: the runtime's work for the layout of an object.")
}

fn layouts(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let header = [
        "",
        "words",
        "pointers",
        "decode",
        "copy mask",
        "recursive",
        "find",
        "mask bytes",
        "program bytes",
        "quoted: 2015 cached mask",
        "quoted: 2015 program",
        "quoted: Go 1.26",
    ];
    let mut table = table(&header);
    for row in &report.types {
        table.add_row([
            row.name.into(),
            row.words.to_string(),
            row.pointers.to_string(),
            cell(row.decode_ns),
            cell(row.copy_mask_ns),
            cell(row.recursive_ns),
            cell(row.find_ns),
            row.mask_bytes.to_string(),
            row.program_bytes.to_string(),
            number(row.quoted.go_2015_before_ns),
            number(row.quoted.go_2015_after_ns),
            number(row.quoted.go_1_26_ns),
        ]);
    }
    writeln!(
        f,
        "\n\
             Layouts as bits, nanoseconds an object:\n\
             \n\
             {table}\n\
             \n\
             decode: the program is expanded into a bitmap. copy mask: the same bits, unrolled once before, are copied there,\n\
             word by word. recursive: an older form is interpreted, bit by bit, an array again for each element. All three\n\
             begin at each bit of a word in turn. find: a nest of loops made of the program visits each pointer, as for an\n\
             object that is marked; none is followed. mask bytes: a bit a word. program bytes: the same as a program."
    )?;
    writeln!(
        f,
        "2015: the benchmarks of Go commit 512f75e8 (Cox), before it with cached masks, after it with programs."
    )
}

fn rates(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let header = ["", "bits", "program bytes", "bits/ns", "older", "quoted: Go 1.26, best"];
    let mut table = table(&header);
    for row in &report.rates {
        table.add_row([
            row.name.into(),
            row.bits.to_string(),
            row.program_bytes.to_string(),
            cell(row.bits_per_ns),
            cell(row.older_bits_per_ns),
            row.quoted_go_1_26_best_bits_per_ns.map_or("-".into(), number),
        ]);
    }
    writeln!(
        f,
        "\n\
             Programs decoded into a bitmap from the first bit of a word on, bits a nanosecond:\n\
             \n\
             {table}\n\
             "
    )?;
    writeln!(
        f,
        "older: the older form, interpreted bit by bit. Quoted is the best of Go's passes: compare it with the largest number in parentheses."
    )
}
