// Measured choices: what the selector takes of them, and the files that keep them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "abi/step_state.h"
#include "fixtures/temporary_directory.h"
#include "json/json.h"
#include "kernels/selector.h"
#include "tune/measurement_file.h"

namespace skipstone::tune {
namespace {

using gguf::Type;

vk::Caps gpu() {
  vk::Caps caps;
  caps.kind = vk::DeviceKind::discrete;
  caps.vendor_id = 0x10de;
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.max_workgroup_invocations = 1024;
  caps.max_workgroup_size = {1024, 1024, 64};
  caps.max_shared_bytes = 49152;
  return caps;
}

vk::Caps cpu() {
  vk::Caps caps = gpu();
  caps.kind = vk::DeviceKind::cpu;
  caps.vendor_id = 0x10005;
  caps.subgroup_size = caps.min_subgroup_size = caps.max_subgroup_size = 8;
  caps.subgroup_ballot = caps.subgroup_shuffle = true;
  caps.max_shared_bytes = 32768;
  return caps;
}

constexpr std::uint32_t long_k = 4096;

kernels::Selector selector(const vk::Caps& caps) { return {caps, vk::tuning_for(caps)}; }

TEST(Candidates, DifferInWhatNoResultDependsOn) {
  for (const vk::Caps& caps : {gpu(), cpu()}) {
    const kernels::Selector select = selector(caps);
    const std::uint32_t k_lanes = select.matvec(Type::q8_0, long_k, 1).k_lanes;
    for (const std::uint32_t bucket : kernels::row_buckets) {
      const auto candidates = select.matvec_candidates(Type::q8_0, bucket);
      EXPECT_EQ(candidates.front(), select.matvec(Type::q8_0, long_k, bucket)) << "the built-in choice is the first";
      EXPECT_LE(candidates.size(), 24u) << "every candidate is a pipeline to be compiled";
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const kernels::MatvecChoice& c = candidates[i];
        EXPECT_EQ(c.k_lanes, k_lanes) << "the order of a sum hangs on it";
        EXPECT_EQ(c.lanes % c.k_lanes, 0u);
        EXPECT_LE(c.lanes, caps.max_workgroup_invocations);
        if (i > 0) {
          EXPECT_LE(c.rows * c.columns, 64u);
          EXPECT_GE(c.rows, 2u) << "a row of gate and one of up";
        }
        if (k_lanes > 1) {
          EXPECT_LE(c.rows * c.columns * c.lanes * 4, caps.max_shared_bytes);
        }
        EXPECT_EQ(std::count(candidates.begin(), candidates.end(), c), 1);
      }
    }
    for (const auto& attention : select.attention_candidates({6, 64, 4}, 64)) EXPECT_EQ(6 % attention.heads, 0u);
    EXPECT_EQ(select.attention_candidates({1, 64, 1}, 1024).size(), 1u);
  }
}

TEST(KLanes, HangOnDeviceAndKAlone) {
  vk::Caps amd = gpu(), intel = gpu();
  amd.vendor_id = 0x1002;
  amd.subgroup_size = amd.min_subgroup_size = amd.max_subgroup_size = 64;
  intel.vendor_id = 0x8086;
  intel.subgroup_size = intel.min_subgroup_size = intel.max_subgroup_size = 16;
  const struct {
    std::uint32_t k, amd, nvidia, intel;
  } wanted[] = {{64, 8, 8, 8},      {576, 32, 32, 16},  {896, 32, 32, 16},  {1024, 32, 32, 16}, {1536, 64, 32, 16},
                {2048, 64, 32, 16}, {3072, 32, 32, 16}, {4096, 64, 32, 16}, {5120, 64, 32, 16}, {14336, 64, 32, 16}};
  for (const auto& [k, of_amd, of_nvidia, of_intel] : wanted) {
    EXPECT_EQ(selector(amd).k_lanes(k / 32), of_amd) << k;
    EXPECT_EQ(selector(gpu()).k_lanes(k / 32), of_nvidia) << k;
    EXPECT_EQ(selector(intel).k_lanes(k / 32), of_intel) << k;
    EXPECT_EQ(selector(cpu()).k_lanes(k / 32), 1u) << k;
    for (const vk::Caps& caps : {amd, gpu(), intel, cpu()}) {
      const kernels::Selector select = selector(caps);
      const kernels::MatvecChoice one = select.argmax(k, 1);
      for (const std::uint32_t bucket : kernels::row_buckets) {
        const kernels::MatvecChoice product = select.matvec(Type::q8_0, k, bucket), argmax = select.argmax(k, bucket);
        EXPECT_EQ(product.k_lanes, select.k_lanes(k / 32));
        EXPECT_EQ(product.lanes, select.matvec(Type::q8_0, long_k, bucket).lanes) << "the other lanes have output rows of their own";
        EXPECT_EQ(argmax.lanes / argmax.k_lanes * argmax.rows, one.lanes / one.k_lanes * one.rows) << "sums of exponentials hang on it";
      }
    }
  }
}

// The place of a table is measured where a format has one: in shared memory, if it fits, or where it is.
TEST(Candidates, HaveATableAtBothPlaces) {
  for (vk::Caps caps : {gpu(), cpu()}) {
    const kernels::Selector select = selector(caps);
    const auto with_table = select.matvec_candidates(Type::iq3_s, 1), without = select.matvec_candidates(Type::q8_0, 1);
    EXPECT_EQ(with_table.size(), without.size() + 1);
    EXPECT_EQ(with_table.front().shared_table, !caps.is_cpu());
    EXPECT_EQ(with_table.back().shared_table, caps.is_cpu());
    for (const kernels::MatvecChoice& choice : without) EXPECT_FALSE(choice.shared_table);
    caps.max_shared_bytes = 1024;
    for (const kernels::MatvecChoice& choice : selector(caps).matvec_candidates(Type::iq3_s, 1)) EXPECT_FALSE(choice.shared_table);
  }
}

TEST(Choices, AreUsedWhereTheyAreCandidates) {
  kernels::Selector select = selector(gpu());
  const kernels::MatvecChoice built_in = select.matvec(Type::q8_0, long_k, 4), other = select.matvec_candidates(Type::q8_0, 4).back();
  ASSERT_NE(built_in, other);
  kernels::Choices choices;
  choices.matvec[{Type::q8_0, 4}] = other;
  choices.matvec[{Type::f16, 1}] = {32, 16, 4, 1};    // another K_LANES would be another sum
  choices.matvec[{Type::q8_0, 1}] = {32, 32, 64, 1};  // would spill
  choices.matmul[{Type::q8_0, 4096, 64}] = 128;       // more columns than the pass has
  choices.attention[{4, 64, 1}] = {32, 3};
  select.use(choices);
  EXPECT_EQ(select.matvec(Type::q8_0, long_k, 4), other);
  EXPECT_EQ(select.matvec(Type::q8_0, long_k, 3), other) << "three rows are in the bucket of four";
  EXPECT_EQ(select.matvec(Type::f16, long_k, 4), built_in) << "another format";
  const kernels::Selector plain = selector(gpu());
  EXPECT_EQ(select.matvec(Type::f16, long_k, 1), plain.matvec(Type::f16, long_k, 1));
  EXPECT_EQ(select.matvec(Type::q8_0, long_k, 1), plain.matvec(Type::q8_0, long_k, 1));
  EXPECT_EQ(select.matmul(Type::q8_0, 4096, 64), plain.matmul(Type::q8_0, 4096, 64));
  EXPECT_EQ(select.attention(4, 64, 64, 1), plain.attention(4, 64, 64, 1));
}

kernels::Choices some_choices() {
  kernels::Choices choices;
  choices.matvec[{Type::q8_0, 4}] = {32, 32, 2, 4};
  choices.matvec[{Type::f16, 1}] = {64, 32, 8, 1};
  choices.matvec[{Type::iq3_s, 1}] = {64, 32, 8, 1, true};
  choices.matmul[{Type::q4_0, 576, 128}] = 64;
  choices.attention[{3, 64, 16}] = {32, 1};
  return choices;
}

TEST(ChoicesJson, GoesThereAndBack) { EXPECT_EQ(choices_from(to_json(some_choices())), some_choices()); }

TEST(ChoicesJson, WhatIsNoChoiceIsLeftOut) {
  for (const char* text :
       {"null", "[]", "{}", "7", R"({"matvec": 3})", R"({"matvec": [1, null, "x", {}]})",
        R"({"matvec": [{"format": "Q9_9", "rows": 1, "choice": [1, 1, 1, 1]}]})",
        R"({"matvec": [{"format": "Q8_0", "rows": -1, "choice": [1, 1, 1, 1]}]})",
        R"({"matvec": [{"format": "Q8_0", "rows": 1, "choice": [1, 1, 1]}, {"format": "Q8_0", "rows": 1, "choice": [1, 1, 1, 1.5]}]})",
        R"({"matvec": [{"format": "Q8_0", "rows": 1, "choice": [1, 1, 1, 99999999999]}], "attention": [{"shape": [1]}]})"}) {
    EXPECT_EQ(choices_from(Json::parse(text)).size(), 0u) << text;
  }
}

class MeasurementFiles : public testing::Test {
 protected:
  MeasurementFile file(const vk::Caps& caps = gpu(), std::uint64_t shaders = 5) const {
    return {directory_.file("cache"), "choices", device_key(caps, shaders)};
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary | std::ios::trunc) << text; }

  fixtures::TemporaryDirectory directory_;
  const Json measured_{{"matvec", {1, 2, 3}}, {"times", {1.5, 2.25}}};
};

TEST_F(MeasurementFiles, AreReadBack) {
  EXPECT_FALSE(file().read());
  file().write(measured_);
  EXPECT_EQ(file().read(), measured_);
  file().write({{"matvec", 4}});
  EXPECT_EQ(file().read(), Json({{"matvec", 4}}));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.file("cache"))) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1u) << "nothing temporary stays";
}

TEST_F(MeasurementFiles, HoldForOneDeviceDriverAndBuild) {
  file().write(measured_);
  EXPECT_FALSE(file(gpu(), 6).read());
  vk::Caps driver = gpu(), uuid = gpu(), device = gpu(), width = gpu();
  driver.driver_version = 9;
  uuid.driver_uuid[3] = 1;
  device.device_uuid[0] = 1;
  width.subgroup_size = 16;
  for (const vk::Caps& other : {driver, uuid, device, width}) EXPECT_FALSE(file(other).read());
  // Another key's file under this one's name.
  std::filesystem::copy_file(file().path(), file(driver).path());
  EXPECT_FALSE(file(driver).read());
}

TEST_F(MeasurementFiles, DamageIsAsIfTheyWereNotThere) {
  file().write(measured_);
  const std::string path = file().path(), whole = read(path);
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) {
    write(path, whole.substr(0, length));
    EXPECT_FALSE(file().read()) << "cut after " << length << " bytes";
  }
  for (std::size_t at = 0; at + 1 < whole.size(); at += 3) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    write(path, changed);
    const auto found = file().read();
    EXPECT_TRUE(!found || *found == measured_) << "byte " << at;  // a changed blank changes nothing
  }
  write(path, std::string(3'000'000, '['));
  EXPECT_FALSE(file().read());
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_FALSE(file().read());
}

TEST_F(MeasurementFiles, NoFolderIsNoFile) {
  const MeasurementFile none("", "choices", device_key(gpu(), 1));
  none.write(measured_);
  EXPECT_FALSE(none.read());
  EXPECT_EQ(none.path(), "");
}

}  // namespace
}  // namespace skipstone::tune
