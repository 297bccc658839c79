// Progress of an operation that its caller may end.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace skipstone::engine {

/// `stage`: "reading model", "loading weights", "tuning kernels", "compiling kernels", "compiling kernels of drafts", "making drafters",
/// "measuring costs", "reading corpus", "indexing corpus", "making bigram table", "ranking tokens"; `done` 0..1. Throws if the caller ends
/// the operation. May be empty.
using Progress = std::function<void(const std::string& stage, double done)>;

inline void report(const Progress& progress, const char* stage, double done) {
  if (progress) progress(stage, done);
}

/// Another session may hold the mutex for seconds while it measures or reads: a caller that waits for it can be ended too.
inline std::unique_lock<std::mutex> locked(std::mutex& mutex, const Progress& progress) {
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock.owns_lock()) {
    report(progress, "waiting for another session", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace skipstone::engine
