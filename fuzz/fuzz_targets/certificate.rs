//! Certificates: whatever the text, the checker says the same twice, whether it prints the steps or not, and what it prints is the
//! same, too. An integer read is the one that is written.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::certificate::{Sexp, Term, check, explain};
use sizewise::query::proof::lines;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(all) = Sexp::read_all(text) else { return };
    for one in &all {
        if let Ok(term) = Term::read(one) {
            let again = Sexp::read_all(&term.to_string()).expect("a term is read again");
            assert_eq!(Term::read(&again[0]).map(|term| term.to_string()), Ok(term.to_string()));
        }
        let (checked, explained) = (check(one), explain(one));
        match (checked, explained) {
            (Ok(checked), Ok(explained)) => {
                assert_eq!(checked.claim, explained.claim);
                assert_eq!((checked.steps, &checked.outside), (explained.steps, &explained.outside));
                let again = explain(one).expect("it was accepted before");
                assert_eq!(lines(&explained), lines(&again));
            }
            (Err(checked), Err(explained)) => assert_eq!(checked, explained),
            (checked, explained) => panic!("{:?}, but {:?}", checked.err(), explained.err()),
        }
    }
});
