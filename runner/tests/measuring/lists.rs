use crate::bench_folder::answer;

#[test]
fn the_models_are_listed_with_their_size() {
    let (code, out, err) = answer(&["models", "--format", "csv"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let expected = "name,source,channels,image_px,smallest_image_px,largest_image_px,classes,parameters,multiply_accumulates\n\
                    lenet5,LeCun et al. 1998,1,32,32,32,10,61706,416520\n";
    assert!(out.starts_with(expected), "{out}");
    assert!(out.contains("resnet18,He et al. 2016,3,64,32,1024,1000,11689512,"), "{out}");
    let json: serde_json::Value = serde_json::from_str(&answer(&["models", "--format", "json"]).1).unwrap();
    assert_eq!(json["models"][0]["parameters"], 61706);
    assert!(answer(&["models"]).1.contains("11,689,512"));
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
