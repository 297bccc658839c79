// Files that Windows keeps from being replaced: those that another process holds open, and those that are marked read-only.
#include <gtest/gtest.h>
#include <windows.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"
#include "fixtures/tiny_model.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;

/// Held by this process, the other one of the program, for as long as this is there.
class Held {
 public:
  Held(const std::string& path, DWORD share)
      : handle_(CreateFileW(fixtures::path_of(path).c_str(), GENERIC_READ, share, nullptr, OPEN_EXISTING, 0, nullptr)) {
    if (handle_ == INVALID_HANDLE_VALUE) throw std::runtime_error("cannot hold " + path);
  }
  ~Held() { CloseHandle(handle_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  HANDLE handle_;
};

class WindowsFiles : public testing::Test {
 protected:
  void SetUp() override {
    fixtures::write_tiny_model({}, model());
    fixtures::write_checkpoint(fixtures::tiny_checkpoint(), folder_.file("hf"));
    std::ofstream(output(), std::ios::binary) << "mine";
  }
  void TearDown() override { fs::permissions(fixtures::path_of(output()), fs::perms::owner_write, fs::perm_options::add); }
  std::string model() const { return folder_.file("tiny.gguf"); }
  std::string output() const { return folder_.file("out.gguf"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  /// By every command that writes a file, and before it works.
  void expect_refused() const {
    const std::vector<std::vector<std::string>> commands = {
        {"quantize", model(), output(), "q8_0", "--force"},
        {"convert", folder_.file("hf"), output(), "--force"},
        {"bench", model(), "-p", "4", "-n", "2", "-r", "1", "--format", "json", "-o", output()}};
    for (const auto& arguments : commands) {
      const std::size_t before = files();
      const Result result = run(arguments);
      EXPECT_EQ(result.code, 1) << arguments[0] << "\n" << result.error;
      EXPECT_EQ(result.out, "") << arguments[0];
      EXPECT_TRUE(result.error.starts_with("error: ")) << result.error;
      EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
      EXPECT_TRUE(contains(result.error, "out.gguf: cannot replace the file: ")) << result.error;
      EXPECT_EQ(files(), before) << arguments[0];
    }
  }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(WindowsFiles, AnOutputThatSomebodyHoldsStaysWhatItIs) {
  {
    const Held held(output(), 0);
    expect_refused();
  }
  {
    const Held held(output(), FILE_SHARE_READ | FILE_SHARE_WRITE);
    expect_refused();
  }
  EXPECT_EQ(fixtures::bytes_of(output()), "mine");
  EXPECT_EQ(run({"quantize", model(), output(), "q8_0", "--force"}).code, 0) << "nobody holds it any more";
}

TEST_F(WindowsFiles, AnOutputThatIsMarkedReadOnlyStaysWhatItIs) {
  fs::permissions(fixtures::path_of(output()), fs::perms::all, fs::perm_options::remove);
  expect_refused();
  EXPECT_EQ(fixtures::bytes_of(output()), "mine");
}

TEST_F(WindowsFiles, AModelMayBeHeldByReadersAndBeReadOnly) {
  fs::permissions(fixtures::path_of(model()), fs::perms::all, fs::perm_options::remove);
  {
    const Held held(model(), FILE_SHARE_READ);
    EXPECT_EQ(run({"run", "-m", model(), "-p", "Hello", "-n", "2"}).code, 0);
  }
  {
    const Held held(model(), 0);
    const Result result = run({"run", "-m", model(), "-p", "Hello", "-n", "2"});
    EXPECT_EQ(result.code, 1) << "as where a file may not be read: " << result.error;
    EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
  }
  fs::permissions(fixtures::path_of(model()), fs::perms::owner_write, fs::perm_options::add);
}

}  // namespace
}  // namespace skipstone::e2e
