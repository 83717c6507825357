//! The types of Go's SetType benchmarks, and published measurements of them.

use super::recursive::RecursiveForm;
use heapwood_layout::program::{BuildError, Builder, ProgramBuf};
use serde::Serialize;

/// Room for the programs, which have about 12 bytes.
pub(super) const ROOM: usize = 64;

/// A type: a number of elements of pointers and words.
pub(super) struct Type {
    pub(super) name: &'static str,
    before: u64,
    pointers: u64,
    behind: u64,
    pub(super) elements: u64,
    pub(super) quoted: Quoted,
}

/// Published measurements, in nanoseconds an object.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Quoted {
    /// Go before the commit: a mask unrolled once and copied.
    pub(super) go_2015_before_ns: f64,
    /// Go after it: programs.
    pub(super) go_2015_after_ns: f64,
    /// Go 1.26.
    pub(super) go_1_26_ns: f64,
}

const fn of(name: &'static str, element: [u64; 3], elements: u64, quoted: [f64; 3]) -> Type {
    let [before, pointers, behind] = element;
    let [go_2015_before_ns, go_2015_after_ns, go_1_26_ns] = quoted;
    let quoted = Quoted { go_2015_before_ns, go_2015_after_ns, go_1_26_ns };
    Type { name, before, pointers, behind, elements, quoted }
}

pub(super) const ALL: [Type; 26] = [
    of("Ptr", [0, 1, 0], 1, [7.59, 5.16, 5.05]),
    of("Ptr8", [0, 8, 0], 1, [21.0, 21.4, 5.43]),
    of("Ptr16", [0, 16, 0], 1, [24.1, 24.6, 5.05]),
    of("Ptr32", [0, 32, 0], 1, [31.2, 32.4, 4.97]),
    of("Ptr64", [0, 64, 0], 1, [45.2, 47.2, 5.56]),
    of("Ptr126", [0, 126, 0], 1, [75.8, 79.1, 0.82]),
    of("Ptr128", [0, 128, 0], 1, [74.3, 77.6, 0.79]),
    of("PtrSlice", [0, 1, 0], 1024, [726.0, 712.0, 0.82]),
    of("Node1", [1, 2, 0], 1, [20.0, 20.7, 4.96]),
    of("Node1Slice", [1, 2, 0], 32, [112.0, 113.0, 0.84]),
    of("Node8", [8, 2, 0], 1, [23.9, 24.7, 4.84]),
    of("Node8Slice", [8, 2, 0], 32, [294.0, 287.0, 0.80]),
    of("Node64", [64, 2, 0], 1, [52.8, 51.8, 1.16]),
    of("Node64Slice", [64, 2, 0], 32, [1130.0, 1140.0, 0.93]),
    of("Node64Dead", [0, 2, 64], 1, [36.0, 32.5, 0.84]),
    of("Node64DeadSlice", [0, 2, 64], 32, [1430.0, 1400.0, 0.86]),
    of("Node124", [124, 2, 0], 1, [75.7, 79.0, 0.81]),
    of("Node124Slice", [124, 2, 0], 32, [1940.0, 2040.0, 0.81]),
    of("Node126", [126, 2, 0], 1, [75.4, 77.7, 0.79]),
    of("Node126Slice", [126, 2, 0], 32, [1950.0, 2030.0, 6.85]),
    of("Node128", [128, 2, 0], 1, [85.4, 122.0, 0.82]),
    of("Node128Slice", [128, 2, 0], 32, [2200.0, 2360.0, 6.81]),
    of("Node130", [130, 2, 0], 1, [83.3, 123.0, 0.85]),
    of("Node130Slice", [130, 2, 0], 32, [2300.0, 2400.0, 6.73]),
    of("Node1024", [1024, 2, 0], 1, [498.0, 537.0, 0.79]),
    of("Node1024Slice", [1024, 2, 0], 32, [15500.0, 17800.0, 6.98]),
];

impl Type {
    pub(super) fn element_words(&self) -> usize {
        (self.before + self.pointers + self.behind) as usize
    }

    pub(super) fn words(&self) -> usize {
        self.element_words() * self.elements as usize
    }

    /// The program of an element.
    pub(super) fn element(&self) -> Result<ProgramBuf<ROOM>, BuildError> {
        self.build()?.try_finish()
    }

    /// The program of all elements.
    pub(super) fn program(&self) -> Result<ProgramBuf<ROOM>, BuildError> {
        let element = self.build()?;
        let mut all = Builder::new();
        all.push_array(element.body(), element.words(), self.elements)?;
        all.try_finish()
    }

    fn build(&self) -> Result<Builder<ROOM>, BuildError> {
        let mut element = Builder::new();
        element.push_scalars(self.before)?;
        element.push_pointers(self.pointers)?;
        element.push_scalars(self.behind)?;
        Ok(element)
    }

    /// The older form: an array is interpreted again for each element.
    pub(super) fn old(&self) -> RecursiveForm {
        let run = |pointer: bool, words: u64| {
            RecursiveForm::Array(Box::new(RecursiveForm::Bits(vec![pointer])), words)
        };
        let parts = [(false, self.before), (true, self.pointers), (false, self.behind)];
        let parts = parts.into_iter().filter(|(_, words)| *words > 0);
        RecursiveForm::Array(
            Box::new(RecursiveForm::Seq(parts.map(|(pointer, words)| run(pointer, words)).collect())),
            self.elements,
        )
    }
}
