//! What is generated from the command line's own description: shell completions and the manual page.
use super::failure::{Failure, Result};
use super::files;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionOptions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManOptions {
    /// A folder for one page a command; without it, the page of `sizewise` goes to standard output.
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Writes the completions of a shell to standard output.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions<C: CommandFactory>(options: &CompletionOptions) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut C::command(), "sizewise", &mut text);
    files::write(None, &String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the manual page.
///
/// # Errors
/// When it cannot be written.
pub fn man<C: CommandFactory>(options: &ManOptions) -> Result<ExitCode> {
    let command = C::command().name("sizewise");
    if let Some(folder) = &options.folder {
        files::make_folder(folder)?;
        let unwritten = |error: std::io::Error| Failure::usage(format!("{}: {error}", folder.display()));
        clap_mangen::generate_to(command, folder).map_err(unwritten)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(Failure::internal)?;
    files::write(None, &String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
