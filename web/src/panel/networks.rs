//! The costs of the networks in dropped ONNX files.

use leptos::prelude::*;

use crate::source::networks_with_px;
use crate::state::Planner;
use crate::worker::network::{BATCHES, NetworkHtml};

/// The tables of costs and memory, and the layers of each network; absent without a network.
#[component]
pub fn NetworkPanel() -> impl IntoView {
    let planner = expect_context::<Planner>();
    let networks = planner.networks;
    let joined = move |part: fn(&NetworkHtml) -> &str| {
        move || networks.shown.with(|shown| shown.iter().map(|(_, html)| part(html)).collect::<String>())
    };
    let is_open = move || networks.shown.with(|shown| shown.iter().any(|(_, html)| html.is_open));
    let mistake = RwSignal::new(false);
    let change = move |event| {
        let px = event_target_value(&event).trim().parse().ok().filter(|px| (1..=16_384).contains(px));
        mistake.set(px.is_none());
        if let Some(px) = px {
            networks_with_px(planner, px);
        }
    };
    view! {
        <Show when=move || !networks.shown.with(Vec::is_empty)>
            <section class="card networks" aria-labelledby="networks-title" data-testid="networks">
                <div class="samples-head">
                    <h2 id="networks-title">"Networks"</h2>
                    <label hidden=move || !is_open()>
                        <span class="hush">"Side of the images where a file leaves it open, pixels "</span>
                        <input
                            inputmode="numeric"
                            size="5"
                            data-testid="network-px"
                            aria-invalid=move || mistake.get().to_string()
                            prop:value=networks.px.get_untracked().to_string()
                            on:change=change
                        />
                    </label>
                    <button type="button" class="quiet" on:click=move |_| networks.clear()>"Close"</button>
                </div>
                <p class="note wrong" role="status">
                    {move || mistake.get().then_some("Write a number of pixels from 1 to 16384, such as 224.")}
                </p>
                <p class="hush">"For one image, from the graph of the file alone. The file stays in this browser."</p>
                <div class="scroll">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">"network"</th>
                                <th scope="col">"input"</th>
                                <th scope="col" class="number">"parameters"</th>
                                <th scope="col" class="number">"multiply-accumulates"</th>
                                <th scope="col" class="number">"activations"</th>
                                <th scope="col" class="number">"memory traffic, bytes"</th>
                                <th scope="col" class="number">"layers"</th>
                            </tr>
                        </thead>
                        <tbody data-testid="network-costs" inner_html=joined(|html| &html.costs)></tbody>
                    </table>
                </div>
                <h3>"Memory in 32-bit floats, MiB"</h3>
                <p class="hush">
                    "Tensors alive at the peak of a step; for training also a gradient and a momentum for each weight. Programs \
                     and libraries add to this."
                </p>
                <div class="scroll">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">"network"</th>
                                <th scope="col">"mode"</th>
                                {BATCHES
                                    .map(|batch| view! { <th scope="col" class="number">{format!("batch of {batch}")}</th> })
                                    .collect_view()}
                            </tr>
                        </thead>
                        <tbody data-testid="network-memory" inner_html=joined(|html| &html.memory)></tbody>
                    </table>
                </div>
                <div data-testid="network-layers" inner_html=joined(|html| &html.layers)></div>
            </section>
        </Show>
    }
}
