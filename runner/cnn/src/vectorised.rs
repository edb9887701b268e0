//! Loops compiled for several vector instruction sets.

/// Defines a function whose body is compiled for each vector instruction set and dispatched at run
/// time. A closure passed to `pulp` would not work: it is compiled as a function of its own, for
/// the baseline instruction set.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<'a>($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name<'a>($($arg: $type),*) $(-> $out)? {
            struct Pass<'a> {
                $($arg: $type),*
            }

            impl<'a> pulp::WithSimd for Pass<'a> {
                type Output = $crate::vectorised::out!($($out)?);

                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
                    let Self { $($arg),* } = self;
                    $body
                }
            }

            pulp::Arch::new().dispatch(Pass { $($arg),* })
        }
    };
}

/// Return type of such a function.
macro_rules! out {
    () => {
        ()
    };
    ($out:ty) => {
        $out
    };
}

pub(super) use {out, vectorised};
