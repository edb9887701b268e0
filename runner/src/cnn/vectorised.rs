//! Loops that are compiled for each kind of vector instructions.

/// Defines a function whose body is compiled for each kind of vector instructions; the processor's best is taken when it
/// runs. A closure handed to `pulp` would not do: calling it is a function of its own, compiled for the oldest processor.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<'a>($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name<'a>($($arg: $type),*) $(-> $out)? {
            struct Pass<'a> {
                $($arg: $type),*
            }

            impl<'a> pulp::WithSimd for Pass<'a> {
                type Output = $crate::cnn::vectorised::out!($($out)?);

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

/// What such a function returns.
macro_rules! out {
    () => {
        ()
    };
    ($out:ty) => {
        $out
    };
}

pub(super) use {out, vectorised};
