use super::*;

fn vars(names: &str) -> Vec<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

fn value(text: &str) -> f32 {
    Expr::parse(text, &[]).unwrap().constant().unwrap()
}

fn message(text: &str) -> (String, Option<String>, String) {
    let e = Expr::parse(text, &vars("x y t density")).unwrap_err();
    (e.message, e.help, e.position.map_or(String::new(), |p| text[p].to_owned()))
}

#[test]
fn precedence_is_that_of_school() {
    assert_eq!(value("1 + 2*3 - 4/2"), 5.0);
    assert_eq!(value("-2^2"), -4.0);
    assert_eq!(value("2^3^2"), 512.0);
    assert_eq!(value("2^-1"), 0.5);
    assert_eq!(value("8/4/2"), 1.0);
    assert_eq!(value("1 - - 1"), 2.0);
    assert_eq!(value("1 + 1 < 3"), 1.0);
    assert_eq!(value("(-3)^3"), -27.0);
    assert_eq!(value("4^0.5"), 2.0);
    assert_eq!(value("1.5e-3*1000"), 1.5);
    assert_eq!(value("2.5E2"), 250.0);
}

#[test]
fn functions_do_what_they_say() {
    for (text, wanted) in [
        ("sin(pi/2)", 1.0),
        ("cos(tau)", 1.0),
        ("exp(ln(2))", 2.0),
        ("log10(1000)", 3.0),
        ("sqrt(9)", 3.0),
        ("abs(-2)", 2.0),
        ("floor(-0.5)", -1.0),
        ("sign(-7)", -1.0),
        ("sign(0)", 0.0),
        ("tanh(0)", 0.0),
        ("step(0)", 1.0),
        ("step(-0.1)", 0.0),
        ("smooth(0.5)", 0.5),
        ("smooth(7)", 1.0),
        ("min(1, 2)", 1.0),
        ("max(1, 2)", 2.0),
        ("atan2(0, 1)", 0.0),
        ("mod(-1, 3)", 2.0),
        ("clamp(5, 0, 1)", 1.0),
        ("2 >= 2", 1.0),
        ("2 <= 1", 0.0),
        ("2 > 1", 1.0),
    ] {
        // libm's f32 functions are good to an ulp or two.
        assert!((value(text) - wanted).abs() <= 3e-7 * wanted.abs().max(1.0), "{text} = {}", value(text));
    }
    assert!((value("tan(1)") - 1.557_407_7).abs() < 1e-6);
    // f32::min would give 1 here and hide the fault from the finite check.
    assert!(value("min(0/0, 1)").is_nan() && value("max(1, 0/0)").is_nan() && value("smooth(0/0)").is_nan());
    assert_eq!(value("1/0"), f32::INFINITY);
}

#[test]
fn rows_and_lanes_agree_with_the_formula_in_rust() {
    let e = Expr::parse("2*x + sin(t)*y - (x > 0.5)*x^2/(1 + abs(y))", &vars("x y z t")).unwrap();
    assert_eq!(e.variables(), ["x", "t", "y"]);
    let x: Vec<f32> = (0..150).map(|i| i as f32 / 150.0).collect();
    let mut out = vec![0.0; 150];
    e.eval_row(&[Input::Row(&x), Input::Uniform(0.7), Input::Uniform(-0.25)], &mut out);
    for (x, value) in x.iter().zip(out) {
        let flag = if *x > 0.5 { 1.0 } else { 0.0 };
        let wanted = 2.0 * x + libm::sinf(0.7) * -0.25 - flag * (x * x) / (1.0 + 0.25);
        // Multiplication associates the same way in both, so they are equal to rounding of the last operation.
        assert!((value - wanted).abs() < 1e-6, "{value} {wanted}");
    }
}

#[test]
fn unused_and_repeated_variables_cost_no_input() {
    assert_eq!(Expr::parse("x*x + x", &vars("x y")).unwrap().variables(), ["x"]);
    assert!(Expr::parse("x", &vars("x")).unwrap().constant().is_none());
}

#[test]
fn messages_point_at_the_culprit_and_say_what_to_do() {
    let text = |m: &str, h: &str, p: &str| (m.to_owned(), Some(h.to_owned()), p.to_owned());
    assert_eq!(message("2*densty"), text("`densty` is not known here", "did you mean `density`?", "densty"));
    assert_eq!(message("q"), text("`q` is not known here", "known here: x, y, t, density, pi, tau", "q"));
    assert_eq!(
        message("2x"),
        text("did not expect `x`", "is an operator missing? Multiplication is written with `*`: 2*x", "x")
    );
    assert_eq!(message("sni(x)"), text("there is no function `sni`", "did you mean `sin`?", "sni"));
    assert_eq!(message("min(x)"), text("`min` takes 2 arguments, not 1", "write min(x, y)", "min"));
    assert_eq!(message("(x + 1"), text("this parenthesis is never closed", "add a `)`", "("));
    assert_eq!(message("x + 1)"), text("did not expect `)`", "there is one `)` too many", ")"));
    assert_eq!(message("x +"), text("the expression stops too early", "a value is missing at the end", "+"));
    assert_eq!(message("x ** 2"), text("`**` is not an operator", "powers are written x^2", "**"));
    assert_eq!(
        message("x == 2"),
        text("`=` is not allowed in an expression", "comparisons are `<`, `>`, `<=` and `>=`", "=")
    );
    assert_eq!(message("sin + 1"), text("`sin` is a function", "write sin(...)", "sin"));
    assert_eq!(message("x(2)"), text("`x` is a value, not a function", "write x*(...)", "x"));
    assert_eq!(
        message("0,5"),
        text(
            "did not expect `,`",
            "write numbers with a point, 0.5; commas only separate the arguments of a function",
            ","
        )
    );
    assert_eq!(
        message("0 < x < 1"),
        text("comparisons cannot be chained", "for a range, multiply two comparisons: (0.2 < x)*(x < 0.4)", "<")
    );
    assert_eq!(message("").0, "the expression is empty");
    assert_eq!(message("1.2.3").0, "`1.2.3` is not a number");
    assert_eq!(message("1e99").0, "1e99 is too large");
    assert_eq!(message("x + ä").0, "`ä` is not allowed in an expression");
}

#[test]
fn hostile_texts_are_refused_without_overflow() {
    for (open, close) in [("(", ")"), ("sin(", ")"), ("-(", ")"), ("2^", "2"), ("x^(", ")"), ("min(x,", ")")] {
        for n in [60, 200, 10_000] {
            let text = format!("{}x{}", open.repeat(n), close.repeat(n));
            assert!(Expr::parse(&text, &vars("x")).is_err(), "{open} {n}");
        }
    }
    // A long flat sum and a long row of signs are fine, and evaluate.
    let sum = Expr::parse(&format!("x{}", "+x".repeat(499)), &vars("x")).unwrap();
    assert_eq!(sum.eval(&[Lanes::splat(1.0)]).0[63], 500.0);
    assert_eq!(value(&format!("{}1", "-".repeat(998))), 1.0);
    assert!(Expr::parse(&"1".repeat(1001), &[]).is_err());
}
