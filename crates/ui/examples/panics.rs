//! Takes over the terminal and panics, for the test that the terminal is usable afterwards. With `--mouse`, clicks
//! are asked for too.

fn main() -> std::io::Result<()> {
    let mouse = std::env::args().any(|word| word == "--mouse");
    flamestack_ui::terminal::in_terminal(mouse, |terminal| {
        terminal.draw(|frame| frame.render_widget("It is about to happen", frame.area()))?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        unreachable!("this is the panic of the test")
    })
}
