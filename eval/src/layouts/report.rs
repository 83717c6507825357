//! The report. `--json` prints it as serialised here; the tables show the same numbers. Invariant: published
//! measurements of others are only under `quoted`.

use super::forms::{Forms, Kind, kind};
use super::objects::Objects;
use super::types::Quoted;
use crate::args::Layouts;
use crate::layouts::patterns::Pattern;
use heapwood_layout::WORD;
use heapwood_report::{Header, Spread};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) header: Header,
    pub(super) types: Vec<Row>,
    pub(super) rates: Vec<RateRow>,
}

/// A type: nanoseconds are of one object.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) words: usize,
    pub(super) bytes: usize,
    pub(super) pointers: u64,
    /// The heap's description: `mask`, `slice of masks`, `program`, or `slice of programs`.
    pub(super) described_by: &'static str,
    /// Allocation in spans of its own; and of a pointer-free object of the same size.
    pub(super) allocate_ns: Spread,
    pub(super) allocate_no_pointers_ns: Spread,
    /// Both are zeroed.
    pub(super) zeroed: bool,
    pub(super) decode_ns: Spread,
    pub(super) copy_mask_ns: Spread,
    pub(super) recursive_ns: Spread,
    pub(super) find_ns: Spread,
    pub(super) mask_bytes: usize,
    pub(super) program_bytes: usize,
    pub(super) quoted: Quoted,
}

/// A pattern.
#[derive(Serialize)]
pub(super) struct RateRow {
    pub(super) name: &'static str,
    pub(super) bits: u64,
    pub(super) program_bytes: usize,
    pub(super) bits_per_ns: Spread,
    /// Of the older form.
    pub(super) older_bits_per_ns: Spread,
    /// The best pass of Go 1.26, a published measurement.
    pub(super) quoted_go_1_26_best_bits_per_ns: Option<f64>,
}

impl RateRow {
    fn of(pattern: &Pattern) -> RateRow {
        RateRow {
            name: pattern.name,
            bits: pattern.words,
            program_bytes: pattern.bytes.len(),
            bits_per_ns: pattern.decode.rate(pattern.words as f64),
            older_bits_per_ns: pattern.older.rate(pattern.words as f64),
            quoted_go_1_26_best_bits_per_ns: pattern.go,
        }
    }
}

impl Report {
    pub(super) fn new(args: &Layouts, types: &[Forms], objects: &Objects, patterns: &[Pattern]) -> Report {
        Report {
            header: Header::now(format!("heapwood-eval layouts --runs {}", args.runs.k), args.runs.k),
            types: types
                .iter()
                .zip(&objects.pairs)
                .map(|(forms, pair)| Row {
                    name: forms.ty.name,
                    words: forms.ty.words(),
                    bytes: forms.ty.words() * WORD,
                    pointers: forms.pointers,
                    described_by: match (kind(forms.ty), forms.ty.elements) {
                        (Kind::Mask, 1) => "mask",
                        (Kind::Mask, _) => "slice of masks",
                        (Kind::Program, 1) => "program",
                        (Kind::Program, _) => "slice of programs",
                    },
                    allocate_ns: pair.typed_ns.spread(),
                    allocate_no_pointers_ns: pair.bare_ns.spread(),
                    zeroed: pair.zeroed,
                    decode_ns: forms.decode.spread(),
                    copy_mask_ns: forms.copy.spread(),
                    recursive_ns: forms.recursive.spread(),
                    find_ns: forms.find.spread(),
                    mask_bytes: forms.mask_bytes(),
                    program_bytes: forms.program_bytes(),
                    quoted: forms.ty.quoted,
                })
                .collect(),
            rates: patterns.iter().map(RateRow::of).collect(),
        }
    }
}
