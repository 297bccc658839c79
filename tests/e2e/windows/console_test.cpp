// What a user types at a console: texts in any writing, and Ctrl-C. (Wine ends the programs of a console that is closed and tells them
// nothing.)
#include <gtest/gtest.h>
#include <windows.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/platform/windows/shared.h"
#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::e2e {
namespace {

using fixtures::Process;
using fixtures::ProcessEnd;
using nlohmann::json;

/// This process ignores what its console is told, for the program's sake.
BOOL WINAPI ignore(DWORD) { return TRUE; }

class WindowsConsole : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    FreeConsole();
    ASSERT_TRUE(AllocConsole());
    SetConsoleCtrlHandler(ignore, TRUE);
  }
  static void TearDownTestSuite() {
    SetConsoleCtrlHandler(ignore, FALSE);
    FreeConsole();
    AttachConsole(ATTACH_PARENT_PROCESS);
  }
  void SetUp() override {
    fixtures::TinyConfig config;
    config.context = 8192;  // seconds of text, for what comes between
    fixtures::write_tiny_model(config, model());
  }
  std::string model() const { return folder_.file("tiny.gguf"); }

  /// Keys of a keyboard that has every character.
  static void type(const std::string& utf8) {
    const HANDLE console =
        CreateFileW(L"CONIN$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
    ASSERT_NE(console, INVALID_HANDLE_VALUE);
    for (const wchar_t unit : platform::utf16(utf8)) {
      INPUT_RECORD key{};
      key.EventType = KEY_EVENT;
      key.Event.KeyEvent.wRepeatCount = 1;
      key.Event.KeyEvent.uChar.UnicodeChar = unit;
      if (unit == L'\r') key.Event.KeyEvent.wVirtualKeyCode = VK_RETURN;
      for (const BOOL down : {TRUE, FALSE}) {
        key.Event.KeyEvent.bKeyDown = down;
        DWORD written = 0;
        ASSERT_TRUE(WriteConsoleInputW(console, &key, 1, &written));
      }
    }
    CloseHandle(console);
  }

  /// The program with the console as its standard input; `act` runs once it has written something, or at once.
  struct Ended {
    ProcessEnd end;
    std::string out, error;
  };
  template <typename Act>
  static Ended run_at_console(const std::vector<std::string>& arguments, bool wait_for_output, const Act& act) {
    Process process({.program = SKIPSTONE_PROGRAM, .arguments = arguments, .in = Stream::console});
    Ended ended;
    bool acted = false;
    do {
      if (acted || (wait_for_output && ended.out.empty())) continue;
      act();
      acted = true;
    } while (process.read(ended.out, ended.error, 100));
    ended.end = process.wait();
    return ended;
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(WindowsConsole, TypedPromptsComeBackUnchanged) {
  for (const std::string text : {"Gr\u00fc\u00dfe, \u041f\u0440\u0438\u0432\u0435\u0442, \u65e5\u672c\u8a9e",
                                 "\U0001f600 and \U0010ffff, beyond 16 bits", "e\u0301 is not \u00e9"}) {
    const Ended ended =
        run_at_console({"run", "-m", model(), "-f", "-", "-n", "2", "--draft", "none", "--json"}, false, [&] { type(text + "\r\x1a\r"); });
    ASSERT_EQ(ended.end.code, 0) << ended.error;
    EXPECT_EQ(json::parse(ended.out)["prompt"], text);
  }
}

TEST_F(WindowsConsole, CtrlCStopsWithStatistics) {
  const Ended ended = run_at_console({"run", "-m", model(), "-p", "Hello", "-n", "-1", "--draft", "none", "--ctx", "8192", "--stats"}, true,
                                     [] { EXPECT_TRUE(GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)); });
  EXPECT_EQ(ended.end.code, 130) << ended.error;
  EXPECT_TRUE(contains(ended.error, "interrupted")) << ended.error;
  EXPECT_TRUE(contains(ended.error, "tokens per round")) << ended.error;
}

}  // namespace
}  // namespace skipstone::e2e
