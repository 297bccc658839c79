// The hub's own folder of downloads, as the package huggingface_hub has it, so that no file is fetched twice:
// ROOT/models--OWNER--NAME/blobs/CHECKSUM holds the bytes, snapshots/COMMIT/FILE is a link to them, and refs/main holds the newest COMMIT.
// https://huggingface.co/docs/huggingface_hub/guides/manage-cache
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pull/model_name.h"

namespace cli::pull {

/// A file of a repository.
struct RemoteFile {
  std::string path;      ///< within the repository
  std::string checksum;  ///< SHA-256 of the bytes, or git's SHA-1 of them as a blob; in hexadecimal digits
  std::uint64_t bytes = 0;
};

/// The part of the folder that belongs to one repository. Functions that change it throw Failure.
class HubCache {
 public:
  /// In $HF_HUB_CACHE, $HF_HOME/hub, or huggingface/hub in the user's folder of caches. Throws Failure where there is none.
  explicit HubCache(const ModelName& model);

  /// Where the model's files are, in the order of their parts; empty where one of them is missing. The newest commit comes first.
  std::vector<std::string> find(const ModelName& model) const;
  /// The same of files by their paths within the repository.
  std::vector<std::string> find(const std::vector<std::string>& files) const;
  /// The model's files, for a hub that cannot be asked: `why` is said. Throws Failure where they are not there either.
  std::vector<std::string> find_instead(const ModelName& model, const std::string& why) const;

  std::string blob(const RemoteFile& file) const { return folder_ + "/blobs/" + file.checksum; }
  /// The bytes that have come so far.
  std::string incomplete(const RemoteFile& file) const { return blob(file) + ".incomplete"; }
  /// Held by the program that downloads the file.
  std::string lock(const RemoteFile& file) const { return locks_ + '/' + file.checksum + ".lock"; }
  bool has(const RemoteFile& file) const;

  /// Makes the file, whose bytes are there, appear in the commit's snapshot, and returns its path.
  std::string link(const RemoteFile& file, const std::string& commit) const;
  /// Names the newest commit.
  void set_newest(const std::string& commit) const;

 private:
  std::vector<std::string> commits() const;
  std::vector<std::string> files_of(const std::string& commit) const;
  std::string snapshot(const std::string& commit) const { return folder_ + "/snapshots/" + commit; }

  std::string folder_, locks_;
};

}  // namespace cli::pull
