//! Mathematical functions of floats.

use myriad_term::arith::Number;
use myriad_term::{Build, Term};
use myriad_vm::bif::{BADARITH, Escape, badarg};
use myriad_vm::{BifResult, Ctx};

macro_rules! unary {
    ($f:expr) => {
        |ctx, a| {
            let f: fn(f64) -> f64 = $f;
            finite(ctx, f(number(a[0])?))
        }
    };
}

myriad_vm::bifs! { pub MATH = "math" {
    "acos" / 1 Plain => unary!(f64::acos);
    "acosh" / 1 Plain => unary!(|x| c(libm_acosh, x));
    "asin" / 1 Plain => unary!(f64::asin);
    "asinh" / 1 Plain => unary!(|x| c(libm_asinh, x));
    "atan" / 1 Plain => unary!(f64::atan);
    "atan2" / 2 Plain => |ctx, a| { let (y, x) = (number(a[0])?, number(a[1])?); finite(ctx, y.atan2(x)) };
    "atanh" / 1 Plain => unary!(|x| c(libm_atanh, x));
    "ceil" / 1 Plain => unary!(f64::ceil);
    "cos" / 1 Plain => unary!(f64::cos);
    "cosh" / 1 Plain => unary!(f64::cosh);
    "erf" / 1 Plain => unary!(|x| c(erf, x));
    "erfc" / 1 Plain => unary!(|x| c(erfc, x));
    "exp" / 1 Plain => unary!(f64::exp);
    "floor" / 1 Plain => unary!(f64::floor);
    "fmod" / 2 Plain => |ctx, a| { let (x, y) = (number(a[0])?, number(a[1])?); finite(ctx, x % y) };
    "log" / 1 Plain => unary!(f64::ln);
    "log10" / 1 Plain => unary!(f64::log10);
    "log2" / 1 Plain => unary!(f64::log2);
    "pow" / 2 Plain => |ctx, a| { let (x, y) = (number(a[0])?, number(a[1])?); finite(ctx, x.powf(y)) };
    "sin" / 1 Plain => unary!(f64::sin);
    "sinh" / 1 Plain => unary!(f64::sinh);
    "sqrt" / 1 Plain => unary!(f64::sqrt);
    "tan" / 1 Plain => unary!(f64::tan);
    "tanh" / 1 Plain => unary!(f64::tanh);
}}

// The C library's functions, so that results equal OTP's to the last bit; std has none for the error functions, and its own
// inverse hyperbolic ones round differently.
unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
    #[link_name = "acosh"]
    safe fn libm_acosh(x: f64) -> f64;
    #[link_name = "asinh"]
    safe fn libm_asinh(x: f64) -> f64;
    #[link_name = "atanh"]
    safe fn libm_atanh(x: f64) -> f64;
}

fn c(f: extern "C" fn(f64) -> f64, x: f64) -> f64 {
    f(x)
}

fn number(term: Term) -> Result<f64, Escape> {
    match Number::of(&term) {
        Some(number) => number.to_f64().ok_or(BADARITH),
        None => badarg(),
    }
}

fn finite(ctx: &mut Ctx<'_>, value: f64) -> BifResult {
    if value.is_finite() { Ok(ctx.float(value)) } else { Err(BADARITH) }
}
