(* Binary trees in OCaml: many short-lived trees beside one long-lived one. It
   compares the cost of allocating small objects with pointers, and of
   collecting them, with OCaml's generational collector at its defaults;
   OCAMLRUNPARAM is taken from the environment, as in any OCaml program. *)

(* Every node is a block of two fields, leaves too. *)
type tree = Empty | Node of tree * tree

let min_depth = 4

(* The full tree of the given depth, children first. The compiler would make
   Node (Empty, Empty) once, as a static constant: the opaque identity has each
   leaf allocated, as the inner nodes are. (Gc.minor_words shows 3 words a node:
   a header and two fields.) *)
let rec bottom_up depth =
  if depth = 0 then Node (Sys.opaque_identity Empty, Empty)
  else
    let left = bottom_up (depth - 1) in
    let right = bottom_up (depth - 1) in
    Node (left, right)

let rec count = function
  | Empty -> 0
  | Node (Empty, _) -> 1
  | Node (left, right) ->
      let lefts = count left in
      let rights = count right in
      1 + lefts + rights

let trees n =
  let max_depth = max n (min_depth + 2) in

  let stretch_depth = max_depth + 1 in
  Printf.printf "stretch tree of depth %d trees 1 nodes %d\n" stretch_depth
    (count (bottom_up stretch_depth));

  let long_lived = bottom_up max_depth in

  let depth = ref min_depth in
  while !depth <= max_depth do
    let iterations = 1 lsl (max_depth - !depth + min_depth) in
    let nodes = ref 0 in
    for _ = 1 to iterations do
      nodes := !nodes + count (bottom_up !depth)
    done;
    Printf.printf "%d trees of depth %d nodes %d\n" iterations !depth !nodes;
    depth := !depth + 2
  done;

  Printf.printf "long lived tree of depth %d nodes %d\n" max_depth
    (count long_lived)

let fail () =
  prerr_endline
    "usage: ocaml-trees [N]         binary trees, default 21\n\
    \       ocaml-trees --version   the version of OCaml";
  exit 2

(* int_of_string alone would take 0x10, too. *)
let number text =
  let digit c = c >= '0' && c <= '9' in
  match int_of_string_opt text with
  | Some n when String.for_all digit text && n >= 1 && n <= 40 -> n
  | _ -> fail ()

(* Out of memory, OCaml's runtime itself says so on standard error and aborts:
   for small blocks there is no exception to catch. *)
let () =
  match Sys.argv with
  | [| _; "--version" |] -> print_endline Sys.ocaml_version
  | [| _ |] -> trees 21
  | [| _; n |] -> trees (number n)
  | _ -> fail ()
