// A record without anything missing.
#pragma once

#include <string>

#include "report/record.h"

namespace cli::report::test {

inline Shape made_up_shape(double speed) {
  Shape shape;
  shape.model = "smollm2-135m:q4_0";
  shape.parameters = 134'515'008;
  shape.tensor_bytes = 76'000'000;
  shape.prompt = Rate{128, 10 * speed, 5, {9.8 * speed, 10.2 * speed}};
  shape.decode = Rate{64, speed, 5, {0.95 * speed, 1.05 * speed}};
  shape.passes = {{1, 1000 / speed, 5, {990 / speed, 1010 / speed}}, {8, 2500 / speed, 4, {2500 / speed, 2600 / speed}}};
  shape.speculation = Speculation{"exit:7,k=4", 64, {{0.5, 0.9, 5, {0.88, 0.91}}, {0.8, 1.25, 5, {1.2, 1.3}}, {1.0, 1.5, 5, {1.45, 1.55}}}};
  return shape;
}

inline Device made_up_device(const std::string& name, double speed) {
  Device device;
  device.host = 0;
  device.name = name;
  device.kind = "CPU";
  device.tier = "fp16";
  device.driver = "llvmpipe";
  device.driver_info = "Mesa 25.0.7";
  device.vulkan = "1.4.305";
  device.subgroup_size = 8;
  device.quirks = {"slow_barriers: fewer (measured)"};
  device.doctor = Doctor{true, true, 640, 0, 0, true, false};
  device.copy_bytes_per_second = 4.5e9;
  device.exactness = Exactness{"fixed-64:q8_0", "exit:4,k=4", 96, 60, 40, "0123456789abcdef", "0123456789abcdef", true};
  device.shapes = {made_up_shape(speed)};
  device.left_out = {{"smollm2-135m:q4_0: a pass of 32 rows", "a run takes 9.0 s, too long for the 8 s that there were"}};
  device.seconds = 87.5;
  return device;
}

inline Record made_up_record(const std::string& name = "llvmpipe (LLVM 19.1.7, 256 bits)", double speed = 20) {
  Record record;
  record.date = "2026-11-25T22:00:00Z";
  record.version = "0.2.0";
  record.commit = "d3bc933";
  record.systems = {{"Linux 6.1.0, Debian GNU/Linux 12 (bookworm)", "AMD EPYC 7B13", 2, 8'000'000'000}};
  record.devices = {made_up_device(name, speed)};
  return record;
}

}  // namespace cli::report::test
