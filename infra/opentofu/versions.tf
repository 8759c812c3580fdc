# What a Kubernetes cluster on AWS needs for this project, beside the cluster itself: a bucket, a shared
# file system, roles, and pools of nodes that cost nothing while nobody computes.
terraform {
  required_version = ">= 1.8"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region = var.region
  default_tags {
    tags = { project = "tomrl" }
  }
}
