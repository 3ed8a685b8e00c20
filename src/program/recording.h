// What stands behind unfuse::Profile.
#pragma once

#include <memory>
#include <string>

#include "targets/cpu/recorder.h"
#include "unfuse/profile.h"

namespace unfuse {

class Profile::Recording {
 public:
  MachineLimits limits;
  int threads = 1;  ///< that the limits are of
  cpu::Clock::time_point start = cpu::Clock::now();
  std::shared_ptr<cpu::Recorder> recorder = std::make_shared<cpu::Recorder>();
};

namespace program {

/// See Profile::table and Profile::save_trace.
std::string profile_table(const Profile& profile, ProfileBy by, int threads);
void save_trace(const Profile::Recording& recording, const std::string& path);

}  // namespace program
}  // namespace unfuse
