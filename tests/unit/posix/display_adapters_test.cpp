// The display adapters of a computer, from folders as Linux has them.
#include "base/platform/linux/display_adapters.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fixtures/temporary_directory.h"

namespace skipstone::platform {
namespace {

namespace fs = std::filesystem;

class DisplayAdapters : public testing::Test {
 protected:
  DisplayAdapters() { umask(022); }  // another user reads the folders too

  void add(const char* place, const char* vendor, const char* device_class) const {
    fs::create_directories(devices() / place);
    std::ofstream(devices() / place / "vendor") << vendor << "\n";
    std::ofstream(devices() / place / "class") << device_class << "\n";
  }
  fs::path devices() const { return folder_.path() / "devices"; }
  fs::path nodes() const { return folder_.path() / "dri"; }

  fixtures::TemporaryDirectory folder_;
};

TEST_F(DisplayAdapters, AreDevicesOfTheDisplayClass) {
  EXPECT_TRUE(display_adapters_in(devices(), nodes()).empty());  // there is no such folder
  add("0000:00:1f.0", "0x8086", "0x060100");                     // a bridge
  add("0000:01:00.0", "0x10de", "0x030000");                     // a VGA controller
  add("0000:02:00.0", "", "0x030000");
  add("0000:03:00.0", "0x1002", "none");
  fs::create_directories(devices() / "0000:04:00.0");
  const auto found = display_adapters_in(devices(), nodes());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].vendor, 0x10deu);
  EXPECT_EQ(found[0].refused, "");
}

TEST_F(DisplayAdapters, SayWhichFileTheirUserMayNotOpen) {
  add("0000:01:00.0", "0x1002", "0x038000");
  fs::create_directories(devices() / "0000:01:00.0" / "drm" / "renderD128");
  EXPECT_EQ(display_adapters_in(devices(), nodes()).at(0).refused, "");  // a container may lack the file
  fs::create_directories(nodes());
  const fs::path node = nodes() / "renderD128";
  std::ofstream(node) << "";
  EXPECT_EQ(display_adapters_in(devices(), nodes()).at(0).refused, "");
  fs::permissions(node, fs::perms::none);
  fs::permissions(folder_.path(), fs::perms{0755});
  const auto as_another_user = [&] {
    fs::current_path(folder_.path());                        // whose parents that user may not enter
    if (geteuid() == 0 && setuid(65534) != 0) std::exit(2);  // root may open all
    std::exit(display_adapters_in("devices", "dri").at(0).refused == "dri/renderD128" ? 0 : 1);
  };
  EXPECT_EXIT(as_another_user(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace skipstone::platform
