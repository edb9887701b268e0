//! Copies of results to the CPU, queued in order with the work of the device. Burn's own copies
//! start only when they are awaited, after all work queued until then.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use burn::tensor::{DType, ExecutionError, Int, Tensor};
use burn_cubecl::{Cube, kernel, tensor::CubeTensor};
use cubecl::bytes::Bytes;
use cubecl::server::{CopyDescriptor, ServerError};

use crate::predictions::Predictions;

type Read = Result<Vec<Bytes>, ServerError>;

/// A pending copy. It is awaited even when dropped, because the device still writes to a buffer
/// that cubecl would reuse for the next copy.
pub struct Copy(Option<State>);

enum State {
    /// The device has answered.
    Done(Read),
    /// The device computes.
    Pending(Pin<Box<dyn Future<Output = Read> + Send>>),
}

/// Starts to copy classes, `[images, 1]`, and a loss; `None` if they are not on a graphics device
/// in 32 bits.
pub fn copy(classes: &Tensor<2, Int>, loss: Option<&Tensor<1>>) -> Option<Copy> {
    let of = |tensor: CubeTensor, dtype: DType| {
        (tensor.dtype == dtype).then(|| {
            let tensor = kernel::into_contiguous_aligned(tensor);
            let (shape, strides) = (tensor.meta.shape().clone(), tensor.meta.strides().clone());
            CopyDescriptor::new(tensor.handle.binding(), shape, strides, dtype.size())
        })
    };
    let classes = classes.clone().try_into_primitive::<Cube>().ok()?;
    let client = classes.client.clone();
    let mut wanted = vec![of(classes, DType::I32)?];
    if let Some(loss) = loss {
        wanted.push(of(loss.clone().try_into_primitive::<Cube>().ok()?, DType::F32)?);
    }
    let mut copy: Pin<Box<dyn Future<Output = Read> + Send>> =
        Box::pin(async move { client.read_tensor_async(wanted).await });
    // The first poll sends the copy to the device.
    Some(Copy(Some(match copy.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(read) => State::Done(read),
        Poll::Pending => State::Pending(copy),
    })))
}

impl Copy {
    /// Waits for the numbers.
    ///
    /// # Errors
    /// The device fails.
    pub fn wait(mut self) -> Result<Predictions, ExecutionError> {
        let read = self.read().unwrap_or_else(|| Ok(Vec::new())).map_err(|error| failure(&error))?;
        let mut read = read.iter().map(|bytes| bytes.as_chunks().0);
        let classes = read.next().unwrap_or_default().iter().map(|bytes| i64::from(i32::from_le_bytes(*bytes)));
        let classes = classes.collect();
        let loss = read.next().and_then(|bytes| bytes.first()).map(|bytes| f32::from_le_bytes(*bytes));
        Ok(Predictions { classes, loss })
    }
}

impl Copy {
    /// Waits for the device, the first time.
    fn read(&mut self) -> Option<Read> {
        match self.0.take()? {
            State::Done(read) => Some(read),
            State::Pending(copy) => Some(cubecl::future::block_on(copy)),
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.read();
    }
}

/// Converts an error; callers only distinguish a lost device from other failures.
fn failure(error: &ServerError) -> ExecutionError {
    match error.is_device_poisoned() {
        true => ExecutionError::device_poisoned(error.to_string()),
        false => ExecutionError::with_context(error.to_string()),
    }
}
