//! Catalogs of machine types.

use foreglow_shared::{BillingTerms, Catalog, CatalogError, MachineType};

const HEADER: &str = "name,processors,memory_gib,hourly_price,currency";

fn own(lines: &str) -> Result<Catalog, CatalogError> {
    Catalog::read(&format!("{HEADER}\n{lines}\n"), "own", None)
}

/// The sentence of an error: one sentence, without a full stop.
fn refused(result: Result<Catalog, CatalogError>) -> String {
    let said = result.unwrap_err().to_string();
    assert!(!said.contains(". ") && !said.ends_with('.'), "{said}");
    said
}

#[test]
fn the_built_in_table_has_every_machine_type_once_with_a_plausible_price() {
    let catalog = Catalog::built_in();
    assert_eq!((catalog.machines.len(), catalog.currency.as_str()), (83, "USD"));
    for machine in &catalog.machines {
        let MachineType { name, hourly_price, spot_price, processors, memory_mib, .. } = machine;
        assert!(*hourly_price > 0.01 && *hourly_price < 200.0, "{name}");
        assert!(spot_price.is_none_or(|spot| spot > 0.0 && spot <= *hourly_price), "{name}");
        assert!(*processors > 0 && *memory_mib >= 1024, "{name}");
        assert_eq!(machine.date.is_some(), machine.provider == "aws", "{name}");
    }
    let count = |provider: &str| catalog.machines.iter().filter(|machine| machine.provider == provider).count();
    assert_eq!((count("aws"), count("gcp"), count("lambda")), (51, 16, 16));
    let g5 = catalog.find("g5.xlarge").unwrap();
    assert_eq!(g5.describe(), "4 processors, 16 GiB, 1 × A10G");
    assert_eq!(g5.billing, Some(BillingTerms { minimum_secs: 60, increment_secs: 1 }));
}

#[test]
fn own_hardware_needs_five_columns_and_is_billed_for_the_exact_time() {
    let catalog = own("rack,64,256,1.25,EUR").unwrap();
    let machine = catalog.find("rack").unwrap();
    assert_eq!((machine.provider.as_str(), machine.processors, machine.memory_mib), ("own", 64, 262_144));
    assert_eq!((machine.hourly_price, machine.spot_price, catalog.currency.as_str()), (1.25, None, "EUR"));
    assert_eq!(machine.rate(1, false, 0.0).unwrap().billed_secs(0.25), 0.25);
    assert_eq!(catalog.find("rock").unwrap_err(), CatalogError::Unknown { name: "rock".into() });
}

#[test]
fn own_hardware_may_name_its_gpus_its_minimum_and_decimal_commas() {
    let text = "name;processors;memory_gib;accelerator;accelerators;accelerator_memory_gib;hourly_price;currency;minimum_secs\n\
                box;16;62,5;RTX 4090;2;24;0,85;EUR;3600\n";
    let catalog = Catalog::read(text, "own", None).unwrap();
    let machine = &catalog.machines[0];
    let gpus = machine.accelerators.clone().unwrap();
    assert_eq!((gpus.name.as_str(), gpus.count, gpus.memory_mib), ("RTX 4090", 2, Some(24_576)));
    assert_eq!((machine.memory_mib, machine.hourly_price), (64_000, 0.85));
    assert_eq!(machine.rate(1, false, 0.0).unwrap().billed_secs(10.0), 3600.0);
}

#[test]
fn the_header_of_an_own_catalog_may_have_capitals() {
    let row = "a,4,16,1,USD,0.25\n";
    let read = |header: &str| Catalog::read(&format!("{header}\n{row}"), "own", None).unwrap();
    let small = "name,processors,memory_gib,hourly_price,currency,spot_price";
    assert_eq!(read("Name,Processors,Memory_GiB,Hourly_Price,CURRENCY,Spot_price"), read(small));
}

#[test]
fn lines_are_counted_alike_with_every_line_end() {
    for end in ["\n", "\r\n"] {
        let read = |row: &str| refused(Catalog::read(&[HEADER, "a,4,16,1,USD", "", row].join(end), "own", None));
        assert!(read("b,0,16,1,USD").starts_with("line 4: processors of b"), "{end:?}");
        assert!(read("b,4,16").starts_with("line 4: this is not a row of the table (3 cells"), "{end:?}");
    }
}

#[test]
fn unusable_catalogs_are_refused_in_one_sentence() {
    assert_eq!(
        refused(own("free,4,16,0,USD")),
        "line 2: hourly_price of free is 0; a machine that costs nothing would always win, so give its price or leave the \
         line out"
    );
    assert_eq!(
        refused(own("a,4,16,1,USD\nb,4,16,1,EUR")),
        "prices are in USD and in EUR, which cannot be compared; give all prices in one currency"
    );
    assert_eq!(
        refused(Catalog::read("name,memory_gib,currency\na,1,USD\n", "own", None)),
        "the columns processors, hourly_price are missing; a catalog has name, processors, memory_gib, hourly_price, \
         currency"
    );
    assert_eq!(
        refused(Catalog::read("name,processors,memory_gib,hourly_price\na,4,16,1\n", "own", None)),
        "the column currency is missing; a catalog has name, processors, memory_gib, hourly_price, currency"
    );
    assert_eq!(
        refused(own("a,4,16,-1,USD")),
        "line 2: hourly_price of a is \"-1\"; give a price per hour above 0, at most 1e12"
    );
    assert_eq!(refused(own("a,0,16,1,USD")), "line 2: processors of a is \"0\"; give a number above 0");
    assert_eq!(refused(own("a,2.5,16,1,USD")), "line 2: processors of a is \"2.5\"; give a whole number");
    assert_eq!(refused(own("a,4,,1,USD")), "line 2: memory_gib of a is \"\"; give a number above 0");
    let price = "line 2: hourly_price of a is \"\"; give a price per hour above 0, at most 1e12";
    assert_eq!(refused(own("a,4,16,,USD")), price);
    assert_eq!(refused(own("a,4,16,NaN,USD")), price);
    assert_eq!(
        refused(own("a,4,16,1,dollars")),
        "line 2: the currency is \"dollars\"; give a code of three capital letters, such as USD"
    );
    assert_eq!(
        refused(own("a,4,16,1,USD\na,8,32,2,USD")),
        "a of own appears twice; keep one line of each machine type"
    );
    assert_eq!(refused(own("a,4,16")), "line 2: this is not a row of the table (3 cells, the header has 5)");
    let empty = "it has no usable machine type; give at least one line below the header, with a price above 0";
    assert_eq!(refused(own("")), empty);
    assert_eq!(refused(Catalog::read("InstanceType,vCPUs,MemoryGiB,Price,Region\n", "aws", None)), empty);
    assert_eq!(
        refused(Catalog::read("InstanceType,vCPUs,Region\na,1,b\n", "aws", None)),
        "the columns MemoryGiB, Price are missing; a catalog has InstanceType, vCPUs, MemoryGiB, Price, Region"
    );
}

#[test]
fn a_spot_price_of_0_is_refused_too() {
    let text = format!("{HEADER},spot_price\na,4,16,1,USD,0\n");
    assert!(refused(Catalog::read(&text, "own", None)).starts_with("line 2: spot_price of a is 0; a machine"));
}

/// Lines from SkyPilot's file of AWS.
const AWS: &str = "\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch
m5.large,,,2.0,8.0,,0.096,0.037500,us-east-1,use1-az1,x86_64
m5.large,,,2.0,8.0,,0.096,0.031900,us-east-1,use1-az2,x86_64
m5.large,,,2.0,8.0,,0.12,0.010000,us-east-1,use1-atl2-az1,x86_64
m5.large,,,2.0,8.0,,0.107,0.030000,eu-west-1,euw1-az1,x86_64
p3.2xlarge,V100,1.0,8.0,61.0,\"{'Gpus': [{'Name': 'V100', 'Manufacturer': 'NVIDIA', 'Count': 1, 'LogicalGpuCount': 1, 'GpuPartitionSize': 1.0, 'Workloads': ['ml-ai'], 'MemoryInfo': {'SizeInMiB': 16384}}], 'TotalGpuMemoryInMiB': 16384}\",3.06,0.370700,us-east-1,use1-az1,x86_64
t2.nano,,,1.0,0.5,,0.0058,,us-east-1,use1-az1,x86_64
mac1.metal,,,12.0,32.0,,,,us-east-1,use1-az1,x86_64_mac
";

#[test]
fn the_catalog_of_aws_is_read_as_it_is() {
    let catalog = Catalog::read(AWS, "aws", None).unwrap();
    let names: Vec<&str> = catalog.machines.iter().map(|machine| machine.name.as_str()).collect();
    assert_eq!(names, ["m5.large", "p3.2xlarge", "t2.nano"]);
    assert_eq!(catalog.left_out, 1, "mac1.metal has no price");
    let m5 = catalog.find("m5.large").unwrap();
    // The cheapest zone of the region; Local Zones are left out.
    assert_eq!((m5.hourly_price, m5.spot_price, m5.region.as_str()), (0.096, Some(0.0319), "us-east-1"));
    let p3 = catalog.find("p3.2xlarge").unwrap();
    let gpus = p3.accelerators.clone().unwrap();
    assert_eq!((gpus.name.as_str(), gpus.count, gpus.memory_mib), ("V100", 1, Some(16_384)));
    assert_eq!(catalog.find("t2.nano").unwrap().memory_mib, 512);
    let europe = Catalog::read(AWS, "aws", Some("eu-west-1")).unwrap();
    assert_eq!(europe.find("m5.large").unwrap().hourly_price, 0.107);
    assert_eq!(
        refused(Catalog::read(AWS, "aws", Some("mars-1"))),
        "there is no machine type in the region mars-1; the catalog has \"eu-west-1\", \"us-east-1\""
    );
}

#[test]
fn a_machine_with_a_part_of_an_accelerator_is_left_out() {
    // `g6f.large` has an eighth of an L4; Azure has sixths of an A10.
    let part = "g6f.large,L4,0.125,2.0,8.0,,0.202,0.08,us-east-1,use1-az1,x86_64\n\
                odd,L4,1.5,2.0,8.0,,0.202,0.08,us-east-1,use1-az1,x86_64\n";
    let catalog = Catalog::read(&format!("{AWS}{part}"), "aws", None).unwrap();
    assert_eq!(catalog.left_out, 3, "these two, and mac1.metal");
    assert!(catalog.find("g6f.large").is_err() && catalog.find("odd").is_err());
}

/// Lines from SkyPilot's file of GCP, in which accelerators have separate rows.
const GCP: &str = "\
InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice
g2-standard-4,4.0,16.0,,,,us-central1,us-central1-a,0.14679,0.05874
g2-standard-48,48.0,192.0,,,,us-central1,us-central1-a,1.7615,0.70483
n1-standard-4,4.0,15.0,,,,us-central1,us-central1-a,0.19,0.05223
a2-highgpu-8g,96.0,680.0,,,,us-central1,us-central1-a,5.91582,2.958
a4-highgpu-8g,224.0,3968.0,,,,us-central1,us-central1-a,0.0,0.0
a3-megagpu-8g,208.0,1872.0,,,,us-central1,us-central1-a,9.46006,2.88933
f1-micro,0.2,0.6123046875,,,,us-central1,us-central1-a,0.0076,0.0035
,,,L4,1,{'Gpus': [{'MemoryInfo': {'SizeInMiB': 24576}}]},us-central1,us-central1-a,0.56004,0.2231
,,,L4,4,{'Gpus': [{'MemoryInfo': {'SizeInMiB': 24576}}]},us-central1,us-central1-a,2.24016,0.8924
,,,B200,8,{'Gpus': [{'MemoryInfo': {'SizeInMiB': 184320}}]},us-central1,us-central1-a,100.5,50.25
,,,tpu-v6e-8,1,tpu-v6e-8,us-central1,us-central1-a,700.0,4.35366
";

#[test]
fn a_machine_of_gcp_has_the_price_of_its_accelerators_added_or_is_left_out() {
    let catalog = Catalog::read(GCP, "gcp", None).unwrap();
    let price = |name: &str| catalog.find(name).unwrap().hourly_price;
    assert!((price("g2-standard-4") - 0.70683).abs() < 1e-9, "0.14679 and one L4");
    assert!((price("g2-standard-48") - 4.00166).abs() < 1e-9, "1.7615 and four L4");
    assert_eq!(price("a4-highgpu-8g"), 100.5, "the price of the accelerators includes the machine");
    assert_eq!(price("n1-standard-4"), 0.19);
    let l4 = catalog.find("g2-standard-48").unwrap();
    assert_eq!((l4.accelerator_count(), l4.spot_price.unwrap()), (4, 0.70483 + 0.8924));
    // A100 has no row, a3-megagpu's accelerators are unknown, and f1-micro has a fifth of a
    // processor.
    assert_eq!((catalog.left_out, catalog.machines.len()), (3, 4));
}

#[test]
fn catalogs_of_several_providers_are_merged_in_one_currency() {
    let both = Catalog::read(AWS, "aws", None).unwrap().merge(Catalog::read(GCP, "gcp", None).unwrap()).unwrap();
    assert_eq!((both.machines.len(), both.left_out), (7, 4));
    assert!(both.machines.windows(2).all(|pair| pair[0].provider <= pair[1].provider));
    let euros = own("rack,64,256,1.25,EUR").unwrap();
    assert!(matches!(both.clone().merge(euros), Err(CatalogError::TwoCurrencies { .. })));
    assert!(matches!(both.clone().merge(both), Err(CatalogError::Twice { .. })));
}

/// Rows of one of SkyPilot's files: name, accelerator, count, memory, region, price.
fn rows(rows: &[[&str; 6]]) -> String {
    let row = |[name, gpu, count, info, region, price]: &[&str; 6]| {
        format!("{name},{gpu},{count},8,64,\"{info}\",{price},,\"{region}\"\n")
    };
    let header = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n";
    rows.iter().fold(header.to_owned(), |text, cells| text + &row(cells))
}

#[test]
fn rows_without_a_region_are_left_out_and_counted() {
    let text = rows(&[
        ["gx", "V100", "1", "", "us-south", "2.497"],
        ["bx", "", "", "", "us-south", "0.384"],
        ["gx", "V100", "1", "", "", "2.821"],
        ["bx", "", "", "", "", "0.434"],
        ["cx", "", "", "", "", "0.461"],
    ]);
    let catalog = Catalog::read(&text, "ibm", None).unwrap();
    assert_eq!((catalog.find("gx").unwrap().region.as_str(), catalog.left_out), ("us-south", 3));
    assert!(catalog.find("cx").is_err());
    assert_eq!(
        refused(Catalog::read(&rows(&[["a", "", "", "", "", "1"]]), "ibm", None)),
        CatalogError::Empty.to_string()
    );
}

#[test]
fn regions_with_commas_are_quoted_as_the_option_takes_them() {
    let text = rows(&[["a", "", "", "", "Texas, US, NA", "0.1"], ["b", "", "", "", ", US, NA", "0.1"]]);
    let error = refused(Catalog::read(&text, "vast", Some("nowhere")));
    assert!(error.ends_with(r#"the catalog has ", US, NA", "Texas, US, NA""#), "{error}");
    assert_eq!(Catalog::read(&text, "vast", Some(", US, NA")).unwrap().machines[0].name, "b");
}

#[test]
fn the_memory_of_a_gpu_is_neither_that_of_all_nor_in_another_unit() {
    let info = |size: u32, total: u32| format!("{{'Gpus': [{{'SizeInMiB': {size}}}], 'TotalGpuMemoryInMiB': {total}}}");
    let json = info(268_288, 268_288).replace('\'', "\"\"");
    let text = rows(&[
        ["a", "A100-80GB", "1.0", &info(80, 80), "US", "1.39"],
        ["b", "RTX5090", "8", &info(260_856, 260_856), "US", "4.53"],
        ["c", "B300", "1.0", &json, "US", "6.99"],
        ["d", "RTX4090", "2", &info(49_152, 49_152), "US", "1"],
    ]);
    let catalog = Catalog::read(&text, "vast", None).unwrap();
    let memory: Vec<_> = catalog.machines.iter().map(|it| it.accelerators.clone().unwrap().memory_mib).collect();
    assert_eq!(memory, [Some(81_920), Some(32_607), Some(268_288), None]);
}

#[test]
fn a_machine_type_with_two_prices_is_counted_and_one_with_two_descriptions_is_left_out() {
    let text = rows(&[
        ["a", "T4", "1", "", "US", "1"],
        ["a", "T4", "1", "", "US", "1.5"],
        ["b", "T4", "1", "", "US", "2"],
        ["b", "T4", "2", "", "US", "2"],
    ]);
    let catalog = Catalog::read(&text, "vast", None).unwrap();
    assert_eq!((catalog.several_prices, catalog.left_out, catalog.machines.len()), (1, 2, 1));
    assert_eq!(catalog.find("a").unwrap().hourly_price, 1.5);
}

#[test]
fn accelerators_without_a_number_or_a_name_are_left_out() {
    let text = rows(&[
        ["a", "V100", "", "", "US", "0.5"],
        ["b", "V100", "0", "", "US", "0.5"],
        ["c", "", "2", "", "US", "0.5"],
        ["d", "", "0", "", "US", "0.5"],
    ]);
    let catalog = Catalog::read(&text, "vast", None).unwrap();
    assert_eq!((catalog.left_out, catalog.machines.len(), catalog.machines[0].name.as_str()), (3, 1, "d"));
}

#[test]
fn a_spot_price_above_the_price_on_demand_is_unknown_or_refused() {
    let spot = |text: &str| {
        let text = rows(&[["a", "", "", "", "US", "0.2"]]).replace("0.2,,", &format!("0.2,{text},"));
        Catalog::read(&text, "vast", None).unwrap().machines[0].spot_price
    };
    assert_eq!((spot("0.9"), spot("0.2"), spot("0.1")), (None, Some(0.2), Some(0.1)));
    let text = format!("{HEADER},spot_price\na,4,16,1,USD,1.5\n");
    let sentence = "line 2: spot_price of a is \"1.5\"; give at most the hourly_price, or nothing";
    assert_eq!(refused(Catalog::read(&text, "own", None)), sentence);
}

#[test]
fn an_unknown_provider_has_no_invented_terms() {
    let catalog = Catalog::read(&rows(&[["a", "", "", "", "US", "36"]]), "vast", None).unwrap();
    let machine = catalog.find("a").unwrap();
    assert_eq!((machine.billing, machine.rate(1, false, 0.0).unwrap().billed_secs(1.5)), (None, 1.5));
    assert_eq!(BillingTerms::of("lambda"), Some(BillingTerms { minimum_secs: 60, increment_secs: 60 }));
}

#[test]
fn an_own_catalog_in_mib_is_refused() {
    assert!(refused(own("a,4,16384,1,USD")).contains("give GiB, at most 256 for each processor"));
    let text = format!("{HEADER},accelerator,accelerator_memory_gib\na,4,16,1,USD,T4,16384\n");
    assert!(refused(Catalog::read(&text, "own", None)).contains("the GiB of one accelerator"));
}

#[test]
fn prices_with_separators_of_thousands_are_read_or_refused() {
    let read = |price: &str, other: &str| {
        let text =
            format!("name;processors;memory_gib;hourly_price;currency\na;4;16;{price};EUR\nb;4;16;{other};EUR\n");
        Catalog::read(&text, "own", None).map(|catalog| catalog.machines[0].hourly_price)
    };
    assert_eq!(read("1.250", "0,5"), Ok(1250.0));
    assert_eq!(read("1.250", "0.5"), Ok(1.25));
    assert!(
        read("1.250", "2").unwrap_err().to_string().contains("line 2: hourly_price is \"1.250\", which may be 1250")
    );
}

#[test]
fn a_catalog_round_trips_through_json() {
    let catalog = Catalog::built_in();
    let json = serde_json::to_string(&catalog).unwrap();
    assert_eq!(serde_json::from_str::<Catalog>(&json).unwrap(), catalog);
}
