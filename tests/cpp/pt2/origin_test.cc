#include "pt2/origin.h"

#include <gtest/gtest.h>

namespace unfuse::pt2 {
namespace {

TEST(Origin, ModulePathIsTheInnermost) {
  EXPECT_EQ(module_path("L__self__,,m.Model;L__self__encoder,encoder,m.Encoder"), "encoder");
  EXPECT_EQ(module_path("L__self__,,m.Model;140041475585616@1,layers.0.proj,torch.nn.Linear"),
            "layers.0.proj");
  EXPECT_EQ(module_path("L__self__,,m.Model"), "");
  EXPECT_EQ(module_path(""), "");
  EXPECT_EQ(module_path("nonsense"), "");
  const std::string none = "_empty_nn_module_stack_from_metadata_hook";
  EXPECT_EQ(module_path(none + "," + none + "," + none), "");
}

TEST(Origin, ModulePathsInDynamosForm) {
  EXPECT_EQ(module_path("L['self'],L['self'],m.Model;L['self'].encoder,L['self'].encoder,m.E"),
            "encoder");
  EXPECT_EQ(module_path("key,L['self'].layers[0].proj,m.Linear"), "layers.0.proj");
  EXPECT_EQ(module_path("key,L['self'].parts['first'],m.Linear"), "parts.first");
  EXPECT_EQ(module_path("L['self'].layers[slice(0, 2)],L__self__.layers,m.Model"), "layers");
  EXPECT_EQ(module_path("key,layers.1@3,m.Linear"), "layers.1");
}

TEST(Origin, ModulesHaveAClassByPath) {
  const auto modules = [](const std::string& stack) {
    std::map<std::string, std::string> classes;
    collect_modules(stack, classes);
    return classes;
  };
  using Classes = std::map<std::string, std::string>;
  EXPECT_EQ(modules("L__self__,,m.Model;L__self__encoder,encoder,m.Encoder;17@1,encoder.0,n.Layer"),
            (Classes{{"", "m.Model"}, {"encoder", "m.Encoder"}, {"encoder.0", "n.Layer"}}));
  EXPECT_EQ(modules("L['self'],L['self'],m.M;L['self'].a[0],L['self'].a[slice(0, 2)]@1,m.A"),
            (Classes{{"", "m.M"}, {"a.slice(0, 2)", "m.A"}}));
  for (const char* none : {"", ";", ";;", "nonsense", "a,b", "a,b,c,d"}) {
    EXPECT_EQ(modules(none), Classes()) << none;
  }
  const std::string hook = "_empty_nn_module_stack_from_metadata_hook";
  EXPECT_EQ(modules(hook + "," + hook + "," + hook), Classes());
}

TEST(Origin, SourceIsTheUsersInnermostLine) {
  const std::string trace =
      "File \"/home/me/train.py\", line 7, in main\n    model(x)\n"
      "  File \"/home/me/model.py\", line 41, in forward\n    return self.proj(x)\n"
      "  File \"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in "
      "forward\n"
      "    return F.linear(input, self.weight, self.bias)\n"
      "  File \"<eval_with_key>.58\", line 9, in forward\n    cond = 1";
  EXPECT_EQ(user_source(trace), "model.py:41");
}

TEST(Origin, SourcesThatAreNot) {
  EXPECT_EQ(user_source(""), "");
  EXPECT_EQ(user_source("File \"torch/fx/passes/runtime_assert.py\", line 24, in insert"), "");
  EXPECT_EQ(user_source("File \"/usr/lib/python3/dist-packages/torch/nn/a.py\", line 2, in f"), "");
  EXPECT_EQ(user_source("File \"unfinished"), "");
  EXPECT_EQ(user_source("    File \"a.py\", line 3"), "a.py:3");
}

TEST(Origin, OtherLibrariesAreTheUsersChoice) {
  EXPECT_EQ(user_source("File \"/v/site-packages/torchvision/models/resnet.py\", line 5, in f"),
            "resnet.py:5");
}

}  // namespace
}  // namespace unfuse::pt2
