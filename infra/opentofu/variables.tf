variable "region" {
  description = "Region of the cluster, such as eu-central-1."
  type        = string
}

variable "cluster" {
  description = "Name of an EKS cluster that is there, with the EFS CSI driver, the NVIDIA device plugin, KubeRay, Kueue and the cluster autoscaler."
  type        = string
}

variable "subnets" {
  description = "Its private subnets. Nodes of accelerators go to the first: NCCL between zones is slow, and costs."
  type        = list(string)
}

variable "vpc" {
  description = "Its VPC."
  type        = string
}

variable "node_security_group" {
  description = "The security group of its nodes, which alone may mount the file system."
  type        = string
}

variable "issuer" {
  description = "Its OIDC issuer without https://, by which service accounts take roles."
  type        = string
}

variable "bucket" {
  description = "Name of the bucket that is made; names are unique in the world."
  type        = string
}

variable "accelerator_type" {
  description = "Machines of the accelerator pools; p4de.24xlarge has 8 x A100 80 GB."
  type        = string
  default     = "p4de.24xlarge"
}

variable "most_accelerator_nodes" {
  description = "How many machines each accelerator pool may have at a time: the bound on the bill."
  type        = number
  default     = 1
}
