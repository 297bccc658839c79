// Files damaged by structure: every reader takes one or refuses it with a sentence, in bounded time and memory. 2,000 files; with
// SKIPSTONE_FULL_TESTS=1 10,000. A file that ends the program stays in the temporary folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/hash.h"
#include "base/log.h"
#include "base/stopwatch.h"
#include "fixtures/temporary_directory.h"
#include "fuzz/live_memory.h"
#include "fuzz/readers.h"

namespace skipstone::fuzz {
namespace {

constexpr double most_seconds = 10;

/// Beyond this reading a file of that size may not hold.
std::size_t most_bytes(std::size_t file) { return (std::size_t{64} << 20) + 8 * file; }

class Mutations : public testing::TestWithParam<Reader> {
 protected:
  void SetUp() override {
    log::set_sink({});
    if (GetParam().prepare != nullptr) GetParam().prepare(folder.path().string());
  }

  /// Whether the file was taken.
  bool read_within_bounds(const std::string& bytes, const std::string& what) {
    const LiveMemory memory;
    const Stopwatch watch;
    bool taken = false;
    try {
      taken = read(GetParam(), folder.path().string(), bytes);
    } catch (const std::exception& other) {
      ADD_FAILURE() << what << ": " << other.what();
    }
    EXPECT_LE(memory.most(), most_bytes(bytes.size())) << what;
    EXPECT_LT(watch.seconds(), most_seconds) << what;
    return taken;
  }

  fixtures::TemporaryDirectory folder;
};

TEST_P(Mutations, AreTakenOrRefused) {
  const Reader& reader = GetParam();
  const bool full = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr;
  // GGUF is what everybody reads, and the largest of the formats.
  const std::size_t files = (full ? 10000 : 2000) / 20 * (std::string(reader.name) == "gguf" ? 7 : 1);
  const std::vector<std::string> seeds = reader.seeds();
  for (std::size_t i = 0; i < seeds.size(); ++i) EXPECT_TRUE(read_within_bounds(seeds[i], "seed " + std::to_string(i)));
  std::size_t taken = 0;
  for (std::uint64_t i = 0; i < files && !HasFailure(); ++i) {
    const std::uint64_t seed = fnv1a(reader.name) + i;
    const std::string damaged = mutate(reader.kind, seeds[i % seeds.size()], seed);
    if (read_within_bounds(damaged, std::string(reader.name) + " " + std::to_string(i))) ++taken;
  }
  std::printf("%s: %zu files, %zu of them taken\n", reader.name, files, taken);
  EXPECT_LT(taken, files);  // some damage is seen
}

/// What tools/fuzz found worth keeping.
TEST_P(Mutations, OfTheCorpusToo) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SKIPSTONE_FUZZ_CORPUS "/") + GetParam().name)) {
    read_within_bounds(fixtures::bytes_of(entry.path().string()), entry.path().string());
    ++files;
  }
  EXPECT_GT(files, 0u);
}

INSTANTIATE_TEST_SUITE_P(Readers, Mutations, testing::ValuesIn(all_readers()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Mutator, GivesTheSameForTheSameSeed) {
  for (const Reader& reader : all_readers()) {
    const std::string seed = reader.seeds().front();
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(mutate(reader.kind, seed, i), mutate(reader.kind, seed, i)) << reader.name;
    EXPECT_NE(mutate(reader.kind, seed, 1), mutate(reader.kind, seed, 2)) << reader.name;
  }
}

}  // namespace
}  // namespace skipstone::fuzz
