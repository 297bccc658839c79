// Every format that is run, against blocks of random bits and the weights that ggml's own code gives for them: 64 a format, with scales
// that are zero, subnormal and as large as a half can be. The files are beside a checkout; without them the test skips.
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf/traits.h"

namespace skipstone::gguf {
namespace {

namespace fs = std::filesystem;
const std::string folder = SKIPSTONE_SHARED_DATA "/formats";

std::vector<std::byte> unhex(const std::string& text) {
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(&text[2 * i], &text[2 * i] + 2, value, 16);
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

/// How many of a block's weights differ in a bit; zeros of both signs are alike.
std::size_t differences(const std::vector<float>& got, const std::vector<double>& wanted) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto value = static_cast<float>(wanted[i]);
    if (std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(value) && !(got[i] == 0.0f && value == 0.0f)) ++count;
  }
  return count;
}

TEST(GoldenFormats, BlocksHaveTheBitsOfGgml) {
  std::error_code missing;
  std::size_t compared = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const nlohmann::json golden = nlohmann::json::parse(file);
    const std::string name = golden.at("type").get<std::string>();
    const Traits* t = find_traits(golden.at("type_number").get<std::uint32_t>());
    ASSERT_NE(t, nullptr) << name;
    EXPECT_EQ(t->name, name);
    EXPECT_EQ(t->block, golden.at("block_elements").get<std::uint32_t>()) << name;
    EXPECT_EQ(t->bytes, golden.at("block_bytes").get<std::uint32_t>()) << name;
    if (!t->runnable) continue;
    const auto& blocks = golden.at("blocks_hex");
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::vector<float> weights(t->block);
      dequantize(t->type, unhex(blocks[i].get<std::string>()), weights);
      const auto wanted = golden.at("values").at(i).get<std::vector<double>>();
      ASSERT_EQ(wanted.size(), weights.size()) << name;
      EXPECT_EQ(differences(weights, wanted), 0u) << name << " block " << i;
    }
    ++compared;
  }
  if (missing) GTEST_SKIP() << "no " << folder;
  EXPECT_GE(compared, 9u);
}

}  // namespace
}  // namespace skipstone::gguf
