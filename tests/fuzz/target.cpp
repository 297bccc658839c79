// A libFuzzer target: SKIPSTONE_FUZZ_READER over whatever libFuzzer gives, half of it mutated by structure.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "base/log.h"
#include "fixtures/temporary_directory.h"
#include "fuzz/readers.h"

namespace {

using namespace skipstone;

struct Target {
  Target() {
    log::set_sink({});
    for (const fuzz::Reader& each : fuzz::all_readers()) {
      if (std::string(each.name) == SKIPSTONE_FUZZ_READER) reader = each;
    }
    if (reader.prepare != nullptr) reader.prepare(folder.path().string());
  }
  fixtures::TemporaryDirectory folder;
  fuzz::Reader reader{};
};

Target& target() {
  static Target one;
  return one;
}

}  // namespace

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string changed = fuzz::mutate(target().reader.kind, std::string(reinterpret_cast<const char*>(data), size), seed);
  std::copy_n(changed.begin(), std::min(changed.size(), most), data);
  return std::min(changed.size(), most);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::read(target().reader, target().folder.path().string(), std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

}  // extern "C"
