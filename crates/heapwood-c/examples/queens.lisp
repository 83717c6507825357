; How many ways there are to put n queens on a board of n by n, none of them attacking another.
(define not (lambda (x) (if x '() t)))
(define attacks
  (lambda (row distance queens)
    (if (pair? queens)
        (if (= (first queens) row) t
        (if (= (first queens) (+ row distance)) t
        (if (= (first queens) (- row distance)) t
            (attacks row (+ distance 1) (rest queens))))))))
(define place
  (lambda (column row n queens)
    (if (= column n) 1
    (if (= row n) 0
        (+ (if (attacks row 1 queens) 0 (place (+ column 1) 0 n (cons row queens)))
           (place column (+ row 1) n queens))))))
(define queens (lambda (n) (place 0 0 n '())))
(queens 6)

; A counter: a closure that changes a variable of its own.
(define counter (lambda (n) (lambda () (set! n (+ n 1)))))
(define next (counter 0))
(next)
(next)

; A loop as long as it likes, by a tail call, while a ring is kept alive and changed.
(define make-ring (lambda (list) (begin (set-rest! (rest (rest list)) list) 'made)))
(define ring (list 1 2 3))
(make-ring ring)
(define turn
  (lambda (n at)
    (if (< 0 n)
        (begin (set-first! at (list n n n)) (turn (- n 1) (rest at)))
        (first at))))
(turn 100000 ring)
(first (rest (rest (rest ring))))

; Errors, and going on.
(first 7)
(nothing)
(define deep (lambda (n) (+ 1 (deep n))))
(deep 1)
(define hoard (lambda (kept) (hoard (cons kept kept))))
(hoard '())
(+ 9223372036854775807 1)
(< 0 (collections))
