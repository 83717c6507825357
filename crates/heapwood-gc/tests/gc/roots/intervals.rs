//! Interval roots: words that keep objects by the addresses at which they lie, of which any part may go.

use heapwood_gc::Heap;
use heapwood_gc_testing::*;

/// Words outside the heap with one object each. Their addresses as complements lie beside, so that nothing else keeps the objects.
struct Words {
    words: Box<[usize]>,
    hidden: Vec<usize>,
}

impl Words {
    fn new(heap: &Heap, n: usize) -> Self {
        let (mutator, leaf) = (attach(heap), pointer_free(heap, 16));
        let mut words = vec![0; n].into_boxed_slice();
        let mut hidden = Vec::new();
        // SAFETY: the words stay while they are in the set.
        unsafe { heap.roots().add_interval(words.as_ptr() as usize, words.as_ptr() as usize + n * 8) }
            .unwrap();
        for word in &mut words {
            let object = new(&mutator, leaf);
            // SAFETY: a word of the box; volatile, since the collector reads it.
            unsafe { (&raw mut *word).write_volatile(object) };
            hidden.push(!object);
        }
        Words { words, hidden }
    }

    fn at(&self, index: usize) -> usize {
        self.words.as_ptr() as usize + index * 8
    }

    /// Which of the objects a collection keeps.
    fn kept(&self, heap: &Heap) -> Vec<usize> {
        attach(heap).collect().unwrap();
        (0..self.hidden.len()).filter(|&index| is_alive(heap, !self.hidden[index])).collect()
    }
}

#[test]
fn a_piece_that_is_cut_out_keeps_nothing() {
    for config in [FULL, FULL.verify(true), PRECISE] {
        let heap = heap(config);
        let roots = heap.roots();
        let words = Words::new(&heap, 100);
        assert_eq!((words.kept(&heap).len(), roots.intervals()), (100, 1));
        roots.remove_interval(words.at(40), words.at(60)).unwrap();
        assert_eq!(roots.intervals(), 2);
        assert_eq!(words.kept(&heap), (0..40).chain(60..100).collect::<Vec<_>>());
        // Parts of words at the ends of a range are no words of it.
        roots.remove_interval(words.at(9) + 1, words.at(10)).unwrap();
        roots.remove_interval(words.at(70), words.at(70) + 1).unwrap();
        let left: Vec<usize> = (0..40).chain(60..100).filter(|&index| index != 9 && index != 70).collect();
        assert_eq!(words.kept(&heap), left);
        // SAFETY: the words stay while they are in the set.
        unsafe { roots.add_interval(words.at(5), words.at(90)) }.unwrap();
        assert_eq!(roots.intervals(), 1);
        assert_eq!(words.kept(&heap), left, "what was dead comes back");
        roots.clear_intervals();
        assert_eq!((words.kept(&heap), roots.intervals()), (vec![], 0));
    }
}

#[test]
fn roots_with_tokens_stay_as_they_are() {
    let heap = heap(FULL);
    let words = Words::new(&heap, 10);
    // SAFETY: the words stay until the root is removed.
    let token = unsafe { heap.roots().add_range(words.at(2), words.at(4)) }.unwrap();
    heap.roots().remove_interval(0, usize::MAX).unwrap();
    assert_eq!(words.kept(&heap), [2, 3]);
    heap.roots().clear_intervals();
    assert_eq!(words.kept(&heap), [2, 3]);
    assert!(heap.roots().remove(token));
    assert!(words.kept(&heap).is_empty());
}
