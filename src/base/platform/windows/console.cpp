#include "base/platform/console.h"

#include <windows.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

#include "base/platform/windows/shared.h"

namespace skipstone::platform {
namespace {

DWORD number_of(Stream stream) {
  switch (stream) {
    case Stream::input:
      return STD_INPUT_HANDLE;
    case Stream::output:
      return STD_OUTPUT_HANDLE;
    case Stream::error:
      break;
  }
  return STD_ERROR_HANDLE;
}

/// INVALID_HANDLE_VALUE where the stream is closed: some consoles take a null for themselves.
HANDLE handle(Stream stream) {
  const HANDLE file = GetStdHandle(number_of(stream));
  return file == nullptr ? INVALID_HANDLE_VALUE : file;
}

std::array<DWORD, 3> modes_before{};

/// Restores colours and the console's other modes from before this program.
void restore_modes() {
  for (const Stream stream : {Stream::output, Stream::error}) {
    const DWORD before = modes_before.at(static_cast<std::size_t>(stream));
    if (before != 0) SetConsoleMode(handle(stream), before);
  }
}

/// The first bytes of a character whose last ones have not arrived yet.
std::size_t incomplete_tail(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(3, text.size()); ++length) {
    const auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t wanted = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    return wanted > length ? length : 0;
  }
  return 0;
}

std::size_t write_console(Stream stream, std::string_view text, std::error_code& error) {
  static std::array<std::string, 3> begun;
  std::string& held = begun.at(static_cast<std::size_t>(stream));
  const std::string_view part = text.substr(0, 8192);
  held += part;
  const std::string tail = held.substr(held.size() - incomplete_tail(held));
  const std::wstring wide = utf16(std::string_view(held).substr(0, held.size() - tail.size()));
  held = tail;
  for (std::size_t done = 0; done < wide.size();) {
    DWORD written = 0;
    if (!WriteConsoleW(handle(stream), wide.data() + done, static_cast<DWORD>(wide.size() - done), &written, nullptr) || written == 0) {
      error.assign(static_cast<int>(GetLastError()), std::system_category());
      return 0;
    }
    done += written;
  }
  return part.size();
}

std::atomic<SignalHandler> handler_of_signals{nullptr};
std::atomic<bool> once{false};

BOOL WINAPI on_event(DWORD event) {
  const SignalHandler handler = once.load() ? handler_of_signals.exchange(nullptr) : handler_of_signals.load();
  if (handler == nullptr) return FALSE;  // Windows ends the program
  const bool ends = event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT;
  handler(ends ? Signal::end : Signal::interrupt);
  SetEvent(signal_event());
  // When this returns from the end of a console Windows ends the program; it gets its seconds to end by itself.
  if (ends) Sleep(10'000);
  return TRUE;
}

}  // namespace

void* signal_event() {
  static const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  return event;
}

void prepare_streams() {
  for (const Stream stream : {Stream::output, Stream::error}) {
    DWORD mode = 0;
    if (GetConsoleMode(handle(stream), &mode) && SetConsoleMode(handle(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING))
      modes_before.at(static_cast<std::size_t>(stream)) = mode;
  }
  std::atexit(restore_modes);
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);  // no window that asks for a disk
}

bool is_terminal(Stream stream) {
  DWORD mode = 0;
  return GetConsoleMode(handle(stream), &mode) != 0;
}

bool has_control_sequences(Stream stream) {
  DWORD mode = 0;
  return GetConsoleMode(handle(stream), &mode) && (mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

std::size_t columns(Stream stream) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return GetConsoleScreenBufferInfo(handle(stream), &info) ? static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1) : 0;
}

bool is_writable(Stream stream) {
  const HANDLE file = handle(stream);
  if (file == INVALID_HANDLE_VALUE) return false;
  SetLastError(ERROR_SUCCESS);
  const DWORD type = GetFileType(file);
  if (type == FILE_TYPE_UNKNOWN && GetLastError() != ERROR_SUCCESS) return false;
  DWORD written = 0;
  return type != FILE_TYPE_DISK || WriteFile(file, "", 0, &written, nullptr);
}

std::size_t write_some(Stream stream, std::string_view text, std::error_code& error) {
  error.clear();
  if (is_terminal(stream)) return write_console(stream, text, error);
  DWORD written = 0;
  if (!WriteFile(handle(stream), text.data(), static_cast<DWORD>(std::min(text.size(), std::size_t{1} << 30)), &written, nullptr)) {
    const DWORD reason = GetLastError();
    error = reason == ERROR_BROKEN_PIPE || reason == ERROR_NO_DATA ? std::make_error_code(std::errc::broken_pipe)
                                                                   : std::error_code(static_cast<int>(reason), std::system_category());
  }
  return written;
}

void write_or_drop(Stream stream, std::string_view text) {
  std::error_code error;
  while (!text.empty() && !error) {
    const std::size_t written = write_some(stream, text, error);
    if (written == 0) return;
    text.remove_prefix(written);
  }
}

std::intptr_t handle_of(Stream stream) { return reinterpret_cast<std::intptr_t>(handle(stream)); }

void handle_first_signal(SignalHandler handler) {
  once = true;
  handler_of_signals = handler;
  SetConsoleCtrlHandler(on_event, TRUE);
}

// A Windows console does not report size changes; Signal::resize never comes.
void handle_all_signals(SignalHandler handler) {
  once = false;
  handler_of_signals = handler;
  SetConsoleCtrlHandler(on_event, TRUE);
}

bool wait_for_input(bool (*pending)()) {
  const HANDLE input = handle(Stream::input);
  for (DWORD pause = 1; !pending(); pause = std::min<DWORD>(2 * pause, 16)) {
    if (GetFileType(input) == FILE_TYPE_PIPE) {
      DWORD bytes = 0;
      if (!PeekNamedPipe(input, nullptr, 0, nullptr, &bytes, nullptr) || bytes > 0) return true;
      WaitForSingleObject(signal_event(), pause);
    } else if (is_terminal(Stream::input)) {
      const HANDLE both[] = {signal_event(), input};
      if (WaitForMultipleObjects(2, both, FALSE, INFINITE) != WAIT_OBJECT_0) return true;
    } else {
      return true;  // a file
    }
  }
  return false;
}

void end_at_once(int exit_code) {
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(exit_code));
  std::abort();
}

}  // namespace skipstone::platform
