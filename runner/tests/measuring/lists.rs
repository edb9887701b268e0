use crate::bench_folder::answer;

#[test]
fn the_models_are_listed_with_their_size() {
    for format in ["table", "json", "csv"] {
        let (code, out, err) = answer(&["models", "--format", format]);
        assert_eq!((code, err.as_str()), (0, ""));
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!(format!("models-{format}"), out);
        });
    }
}

#[test]
fn the_processor_is_a_device_and_a_software_adapter_is_not_taken_by_itself() {
    let (code, out, _) = answer(&["devices", "--format", "json"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let devices = json["devices"].as_array().unwrap();
    assert_eq!((&devices[0]["index"], &devices[0]["kind"]), (&0.into(), &"cpu".into()));
    let taken = json["auto"].as_u64().unwrap() as usize;
    assert_ne!(devices[taken]["kind"], "software");
    if !devices.iter().any(|device| device["kind"] == "software") {
        eprintln!("SKIPPED in part: this machine has no software Vulkan adapter to be left alone");
    }
}
