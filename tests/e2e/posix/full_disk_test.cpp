// A disk that fills up while a model file is written.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "e2e/program.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_checkpoint.h"

namespace skipstone::e2e {
namespace {

namespace fs = std::filesystem;

TEST(FullDisk, NothingIsLeftBehind) {
  const fixtures::TemporaryDirectory folder;
  fixtures::write_checkpoint(fixtures::tiny_checkpoint({.layers = 3}), folder.file("tiny-hf"));
  // A limit on the size of files, which children inherit, stands in for the disk; ignored, its signal becomes an error of write().
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{20000, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const Result result = run({"convert", folder.file("tiny-hf"), folder.file("tiny.gguf")});
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(result.code, 1) << result.error;
  EXPECT_TRUE(contains(result.error, "tiny.gguf: cannot write: File too large; no partial file is left")) << result.error;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace skipstone::e2e
