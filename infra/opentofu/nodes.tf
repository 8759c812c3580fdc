# Pools of nodes that have none while nobody computes. The cluster autoscaler starts one for a pod that
# waits, and ends it ten minutes after the last pod. It reads labels and taints of an empty pool by
# eks:DescribeNodegroup, which its role must have.
locals {
  pools = {
    cpu          = { types = ["m7i.8xlarge"], most = 4, spot = false, gpu = false }
    a100-80      = { types = [var.accelerator_type], most = var.most_accelerator_nodes, spot = false, gpu = true }
    a100-80-spot = { types = [var.accelerator_type], most = 2 * var.most_accelerator_nodes, spot = true, gpu = true }
  }
}

resource "aws_eks_node_group" "pool" {
  for_each        = local.pools
  cluster_name    = var.cluster
  node_group_name = "tomrl-${each.key}"
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = each.value.gpu ? [var.subnets[0]] : var.subnets
  instance_types  = each.value.types
  capacity_type   = each.value.spot ? "SPOT" : "ON_DEMAND"
  ami_type        = each.value.gpu ? "AL2023_x86_64_NVIDIA" : "AL2023_x86_64_STANDARD"
  labels          = { "tomrl/pool" = each.key }

  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = each.value.most
  }

  launch_template {
    id      = aws_launch_template.pool[each.key].id
    version = aws_launch_template.pool[each.key].latest_version
  }

  dynamic "taint" {
    for_each = each.value.gpu ? [1] : []
    content {
      key    = "nvidia.com/gpu"
      value  = "present"
      effect = "NO_SCHEDULE"
    }
  }

  lifecycle {
    ignore_changes = [scaling_config[0].desired_size] # those of the autoscaler
  }
  depends_on = [aws_iam_role_policy_attachment.node]
}

resource "aws_launch_template" "pool" {
  for_each = local.pools
  name     = "tomrl-${each.key}"

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # pods do not reach the role of their node
  }

  # The disks inside a node of accelerators hold the pods' own folders, such as checkpoints on their way.
  user_data = each.value.gpu ? base64encode(file("${path.module}/node.mime")) : null

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_size = each.value.gpu ? 300 : 100 # GB: images, and what Ray spills
      volume_type = "gp3"
      encrypted   = true
    }
  }
}

data "aws_iam_policy_document" "node_trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "node" {
  name               = "tomrl-node"
  assume_role_policy = data.aws_iam_policy_document.node_trust.json
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset([
    "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"
  ])
  role       = aws_iam_role.node.name
  policy_arn = "arn:aws:iam::aws:policy/${each.value}"
}
