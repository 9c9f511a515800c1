use std::process::Command;

const CASSETTES: [&str; 4] = [
    "gemini-api/text",
    "gemini-api/framing",
    "gemini-api/parallel-calls",
    "gemini-api/finish-reasons",
];

#[test]
fn the_adapter_keeps_all_that_gemini_sent() {
    let target = format!("run: {}", env!("CARGO_BIN_EXE_adapter"));
    let judge = [
        "gemini-conformance",
        "judge",
        &target,
        "--questions",
        "none",
        "--cassettes",
    ];
    let output = Command::new("uvx")
        .args(judge)
        .args(CASSETTES)
        .output()
        .expect("uvx is installed");
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&text)
    );
}
