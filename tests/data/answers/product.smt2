; expected: unsat
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(define-fun e10! () Int (* a b))
(define-fun e16! () Int (+ 5 (* (- 1) e10!)))
(define-fun e18! () Bool (<= e16! 0))
; the goal is false
(assert e18!)
(check-sat)
