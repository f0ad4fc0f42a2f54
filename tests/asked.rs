//! Questions given as arguments, the examples of help texts, and what is generated from the command line.
use crate::command::with_input;

/// Exit status and the whole of both outputs.
fn run(arguments: &[&str]) -> (i32, String) {
    let (status, out, err) = with_input(arguments, "");
    (status, out + &err)
}

#[test]
fn a_question_is_answered_for_people() {
    let follows = "implied: s0 >= 8\n  because     s0 % 8 == 0 and s0 >= 2\n  decided by  range\n";
    let contradictory = "nothing to decide: the assumptions contradict each other\n  because     s0 >= 2, s0 < 1\n  decided by  range\n";
    let table: &[(&[&str], i32, &str)] = &[
        (&["entail", "s0 % 8 == 0 and s0 >= 2", "=> s0 >= 8"], 0, follows),
        (&["entail", "s0 % 8 == 0 and s0 >= 2 => s0 >= 8"], 0, follows),
        (
            &["entail", "s0 >= 0", "=> s0 >= 9"],
            1,
            "not implied: s0 >= 9 is false at s0 = 0\n  decided by  search\n",
        ),
        (&["entail", "s0 >= 2", "s0 < 1", "=> s1 == 4"], 2, contradictory),
        (&["simplify", "Max(s0, 1) + 0*s1", "--given", "s0 >= 2"], 0, "s0\n"),
        (&["simplify", "-s0 + s1 - s1"], 0, "-s0\n"),
        (&["simplify", "s0 + 1 != 0", "--given", "-s0 <= 3"], 0, "s0 != -1\n"),
        (
            &["simplify", "s0", "--given", "s0 < 1", "--given", "s0 > 3"],
            2,
            "nothing to simplify: the assumptions contradict each other\n  because     s0 < 1, s0 > 3\n",
        ),
        (
            &["bounds", "s0", "--given", "s0 < 1", "--given", "s0 > 3"],
            2,
            "no value: the assumptions contradict each other\n  because     s0 < 1, s0 > 3\n",
        ),
        (
            &["bounds", "-s0", "--given", "s0 <= 9", "--given", "-s0 <= -2"],
            0,
            "least     -9, at s0 = 9\ngreatest  -2, at s0 = 2\n",
        ),
        // Sources are symbols of their own, and sizes are at least 0.
        (
            &["entail", "x.shape[0] % 4 == 0", "=> x.shape[0] % 2 == 0"],
            0,
            "implied: x.shape[0] % 2 == 0\n  because     x.shape[0] % 4 == 0\n  decided by  range\n",
        ),
        (
            &["entail", "L['x'].size()[0] <= 3", "=> x.shape[0] >= 1"],
            1,
            "not implied: x.shape[0] >= 1 is false at x.shape[0] = 0\n  decided by  search\n",
        ),
        (
            &["bounds", "2*s0", "--given", "s0 <= 9"],
            0,
            "least     none: there is no bound\ngreatest  18, at s0 = 9\n",
        ),
        (
            &["bounds", "2*s0", "s0 <= 9", "s0 >= 1", "--given", "s0 != 1"],
            0,
            "least     4, at s0 = 2\ngreatest  18, at s0 = 9\n",
        ),
        (&["simplify", "b*t == 2*t", "t >= 1"], 0, "b == 2\n"),
        (
            &["eval", "tests/data/users/slice_by_checked_item.pt2", "x=", "y=5"],
            0,
            "accepted\n  output 0   [u1]\n  if, at run time: u1 >= 0, u1 <= 5\n",
        ),
        (&["minimize", "s0 >= 2", "s0 >= 1"], 0, "2 <= s0\n  redundant: s0 >= 1 (follows from s0 >= 2)\n"),
        (&["eval", "examples/area.pt2", "x=4", "y=[8]"], 0, "accepted\n  output 0   [4]\n"),
    ];
    for (arguments, status, text) in table {
        assert_eq!(run(arguments), (*status, (*text).to_owned()), "{arguments:?}");
    }
    let (status, text) = run(&["eval", "examples/area.pt2", "x=32", "y=32"]);
    assert_eq!(status, 1);
    assert!(text.starts_with("refused: guard failed: x.shape[0]*y.shape[0] <= 999\n"), "{text}");
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    let table: &[(&[&str], &str)] = &[
        (&["entail", "s0 > 2"], "the goal is missing: write it last, behind `=>`"),
        (&["entail", "s0 > 2", "=>"], "the goal is missing behind `=>`"),
        (
            &["entail", "=> s0 > 2", "s0 > 3"],
            "`s0 > 3` stands behind the goal: the goal is the last argument",
        ),
        (&["entail", "s0 > 2 => s0 > 1 => s0 > 0"], "a second `=>`: a question has one goal"),
        (
            &["entail", "s0 >", "=> s0 > 0"],
            "the assumption cannot be read: line 1, column 5: expected an operand",
        ),
        (
            &["simplify", "s0 +"],
            "the expression cannot be read: line 1, column 5: expected an operand, found the end",
        ),
        (
            &["bounds", "s0", "s0 = 1"],
            "the assumption cannot be read: line 1, column 4: expected `==`, found `=`",
        ),
        (&["simplify", "--given", "s0 > 1"], "the following required arguments were not provided"),
        (&["bounds", "f(s0)"], "the expression cannot be read: "),
        (&["entail", "=> x.shape[0] >"], "the goal cannot be read: line 1, column 13: expected an operand"),
        (&["eval", "examples/area.pt2", "x"], "`x`: expected an input and its sizes, such as `x=3,8`"),
        (&["eval", "examples/area.pt2", "x=2,,8"], "`x=2,,8`: expected an input and its sizes"),
        (&["eval", "examples/area.pt2", "x=-3"], "`x=-3`: expected an input and its sizes"),
        (&["eval", "examples/area.pt2", "x=3", "x=4"], "`x=4`: the input `x` is given twice"),
        (&["eval", "examples/area.pt2", "z=3"], "the program has no input `z`; the nearest is `x`"),
        (&["entail", "s0 %% 8"], "the goal is missing"),
        (&["entail", "=> s0 %% 8"], "\n  s0 %% 8\n      ^\n"),
        (&["entail", "s0 >= 2", "s1 >", "=> s0 > 0"], "\n  s1 >\n      ^\n"),
        (&["simplify", "2*(s0 + 1", "--given", "s0 > 1"], "\n  2*(s0 + 1\n           ^\n"),
        (
            &["check", "examples/area.pt2", "--spec", "examples/bert.pt2"],
            "examples/bert.pt2: the spec: this is an exported program, not a spec; `sizewise spec show PROGRAM`",
        ),
        (&["spec", "show", "Cargo.toml"], "Cargo.toml: line 1, column 2: `workspace` is not assigned above"),
        (&["completions", "tcsh"], "invalid value 'tcsh' for '<SHELL>'"),
    ];
    for (arguments, message) in table {
        let (status, text) = run(arguments);
        assert_eq!(status, 2, "{arguments:?}: {text}");
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
}

/// What `spec show` prints of a program: the dimensions that are dynamic, with tuples where the program takes them.
#[test]
fn the_spec_of_a_program_is_shown() {
    let table = [
        (
            "examples/area.pt2",
            "from torch.export import Dim\n\ndynamic_shapes = {\n    'x': [Dim.AUTO],\n    'y': [Dim.AUTO],\n}\n",
        ),
        (
            "tests/data/programs/pt_list_tuple.pt2",
            "from torch.export import Dim\n\n\
             t_0_0 = Dim('t_0_0', min=0)\nt_1_0_0 = Dim('t_1_0_0', min=0)\n\
             xs_0_0 = Dim('xs_0_0', min=0)\nxs_1_0 = Dim('xs_1_0', min=0)\n\n\
             dynamic_shapes = {\n    't': ([t_0_0], ([t_1_0_0],)),\n    'xs': [[xs_0_0, None], [xs_1_0, None]],\n}\n",
        ),
    ];
    for (program, text) in table {
        assert_eq!(run(&["spec", "show", program]), (0, text.to_owned()), "{program}");
    }
}

#[test]
fn the_extension_of_the_output_chooses_the_form() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, is_python) in [("spec.py", true), ("spec.json", false), ("spec", true)] {
        let path = folder.path().join(name);
        let path = path.to_str().expect("a path");
        assert_eq!(run(&["spec", "show", "examples/bert.pt2", "-o", path]), (0, String::new()), "{name}");
        let text = std::fs::read_to_string(path).expect("a spec");
        assert_eq!(text.starts_with("from torch.export import Dim"), is_python, "{name}: {text}");
        let form = if is_python { "python" } else { "json" };
        assert_eq!(run(&["spec", "init", "examples/bert.pt2", "--as", form]), (0, text), "{name}");
        let (status, verdict) = run(&["check", "examples/bert.pt2", "--spec", path]);
        assert_eq!(status, 0, "{verdict}");
    }
    let path = folder.path().join("init.py");
    run(&["spec", "init", "examples/bert.pt2", "-o", path.to_str().expect("a path")]);
    assert!(std::fs::read_to_string(path).expect("a spec").starts_with("from torch.export"));
}

/// The commands with their subcommands.
fn commands() -> Vec<Vec<String>> {
    let names = |arguments: &[&str]| -> Vec<String> {
        let (_, help) = run(arguments);
        let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let mut found = Vec::new();
    for name in names(&["--help"]).into_iter().filter(|name| name != "help") {
        if name == "spec" {
            let inner = names(&["spec", "--help"]).into_iter().filter(|inner| inner != "help");
            found.extend(inner.map(|inner| vec!["spec".to_owned(), inner]));
        }
        found.push(vec![name]);
    }
    found
}

/// The words of a command line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_examples_of_every_help_text_run() {
    let commands = commands();
    assert!(commands.len() >= 20, "{commands:?}");
    for command in &commands {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let (_, help) = run(&arguments);
        let examples = help.split_once("Examples:\n").map_or("", |(_, rest)| rest);
        let lines: Vec<&str> =
            examples.lines().map(str::trim).filter(|line| line.contains("sizewise ")).collect();
        assert!(lines.len() >= 2, "{command:?} has {} examples:\n{help}", lines.len());
        // A service does not end, a trace is not part of the sources, and pages would be written here.
        if ["serve", "replay", "man"].contains(&command[0].as_str()) {
            continue;
        }
        for line in lines.into_iter().filter(|line| !line.contains(" < ")) {
            let (input, program) = match line.split_once(" | ") {
                Some((echo, program)) => (words(echo).pop().unwrap_or_default(), program),
                None => (String::new(), line),
            };
            let given = words(program);
            let given: Vec<&str> = given.iter().skip(1).map(String::as_str).collect();
            let (status, out, err) = with_input(&given, &input);
            assert!(matches!(status, 0 | 1), "{line}\n{status}\n{out}{err}");
            assert!(!out.is_empty() || line.contains("/dev/null"), "{line}\n{err}");
        }
    }
}

#[test]
fn completions_and_the_manual_name_every_command() {
    let (_, manual) = run(&["man"]);
    for command in commands().into_iter().filter(|command| command.len() == 1) {
        let dashed = command[0].replace('-', "\\-");
        assert!(manual.contains(&format!("sizewise\\-{dashed}(1)")), "{command:?}");
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let (status, text) = run(&["completions", shell]);
            assert!(status == 0 && text.contains(&command[0]), "{shell} {command:?}");
        }
    }
}
