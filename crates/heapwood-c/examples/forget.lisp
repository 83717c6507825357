; What is forgotten goes: symbols that nobody uses, ports, and what had no room. Run it with --limit.
(define times (lambda (n f) (if (< 0 n) (begin (f n) (times (- n 1) f)) 'done)))

; Names by the thousand. Those of variables stay.
(define name17 'seventeen)
(times 10000 (lambda (n) (symbol 'name n)))
(collect)
(< (symbols) 1000)
(times 10000 (lambda (n) (symbol 'name n)))
name17

; Ports by the thousand, where a process may have some dozens open.
(define null (open '/dev/null))
(times 1000 (lambda (n) (open '/dev/null)))
(times 1000 (lambda (n) (write (create '/dev/null) n)))
(read null)
(close null)

; Errors, and going on: a list that has no room is not kept.
(define make (lambda (n list) (if (< 0 n) (make (- n 1) (cons n list)) list)))
(define small (make 10 '()))
(define huge (make 1000000 '()))
(define huge (make 1000000 '()))
small
; This one is kept as far as it came, so there is room for nothing else until it is dropped.
(define grown '())
(define grow (lambda (n) (begin (set! grown (cons n grown)) (grow (+ n 1)))))
(grow 0)
(make 1000000 '())
(set! grown '())
(first (make 1000 '()))
