// The three standard streams of a program, and the user's terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace skipstone::platform {

enum class Stream { input, output, error };

/// Called once, before anything is read or written. A pipe without a reader becomes an error of its writer, not a signal; a stream that is
/// closed keeps failing, and no file gets its number; a Windows console shows UTF-8 and colours.
void prepare_streams();

bool is_terminal(Stream stream);
/// Whether it is a terminal that understands control sequences.
bool has_control_sequences(Stream stream);
/// Width of the terminal; 0 where unknown.
std::size_t columns(Stream stream);
/// False for a stream that is closed, or open for reading alone.
bool is_writable(Stream stream);

/// Writes as many bytes of `text` as go at once; errc::broken_pipe without a reader. A console gets whole characters.
std::size_t write_some(Stream stream, std::string_view text, std::error_code& error);
/// Writes all of `text` if possible; errors are ignored.
void write_or_drop(Stream stream, std::string_view text);
/// The stream's handle for read_next().
std::intptr_t handle_of(Stream stream);

/// A request of the user or the system to a running program.
enum class Signal {
  interrupt,  ///< Ctrl-C
  end,        ///< SIGTERM, SIGHUP; a console that is closed, a user who logs off
  resize,     ///< the terminal's size has changed
};

/// Runs in a signal handler, or on a thread of the system: it may touch lock-free atomics and nothing else that others touch.
using SignalHandler = void (*)(Signal);

/// From now on Ctrl-C and SIGTERM call `handler` the first time, and end the program the second time.
void handle_first_signal(SignalHandler handler);
/// From now on all signals above call `handler`, every time.
void handle_all_signals(SignalHandler handler);

/// Waits until standard input can be read; false where a signal came first, or `pending` says that one had come already.
bool wait_for_input(bool (*pending)());

/// Ends the program without any more of its code.
[[noreturn]] void end_at_once(int exit_code);

}  // namespace skipstone::platform
